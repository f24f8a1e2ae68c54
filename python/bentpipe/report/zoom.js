// Enlarges a part of a figure: drag over it, or pinch it with two fingers, after which one finger moves it. A double click,
// a double tap or the button below the figure shows the whole again. Panels that share their time axis move together. The figures are matplotlib's SVG; data-axes of the svg element has the limits of each panel: its id, and for x and y
// the least and greatest value and whether the axis is logarithmic.
"use strict";

for (const svg of document.querySelectorAll("svg[data-axes]")) {
  const panels = JSON.parse(svg.dataset.axes).map((about) => panelOf(svg, about)).filter(Boolean);
  const whole = make("button", { type: "button", hidden: "" }, "http://www.w3.org/1999/xhtml");
  whole.textContent = "Show the whole figure";
  svg.closest("figure").append(whole);
  let start = null;
  let mark = null;
  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [point.x, point.y];
  };
  const under = ([x, y]) =>
    panels.find(({ box }) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height);
  // Shows the ranges x and y of a panel, as fractions of the whole, and the same range of x in panels with the same axis.
  const enlarge = (panel, x, y) => {
    for (const one of panels) {
      if (one === panel) show(one, x, y);
      else if (JSON.stringify(one.about.x) === JSON.stringify(panel.about.x)) show(one, x, one.y);
    }
    whole.hidden = false;
  };
  const reset = () => {
    panels.forEach((panel) => show(panel, [0, 1], [0, 1]));
    whole.hidden = true;
  };
  whole.addEventListener("click", reset);
  touches(svg, { at, under, enlarge, reset });
  svg.addEventListener("pointerdown", (event) => {
    const [x, y] = at(event);
    const panel = under([x, y]);
    if (!panel || event.button || event.pointerType === "touch") return;
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    start = { panel, x, y };
    mark = make("rect", { class: "zoom" });
    svg.append(mark);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!start) return;
    const [left, right, top, bottom] = chosen(at(event));
    for (const [key, value] of Object.entries({ x: left, y: top, width: right - left, height: bottom - top })) {
      mark.setAttribute(key, value);
    }
  });
  svg.addEventListener("pointerup", (event) => {
    if (!start) return;
    const { panel } = start;
    const [left, right, top, bottom] = chosen(at(event));
    start = null;
    mark.remove();
    if (right - left < 4) return;
    const { box } = panel;
    const across = [(left - box.x) / box.width, (right - box.x) / box.width];
    const up = [(box.y + box.height - bottom) / box.height, (box.y + box.height - top) / box.height];
    enlarge(panel, part(panel.x, across), bottom - top >= 4 ? part(panel.y, up) : panel.y);
  });
  svg.addEventListener("pointercancel", () => {
    start = null;
    mark?.remove();
  });
  svg.addEventListener("dblclick", reset);

  // The part of the panel between the start and a point. A drag that is nearly level takes the whole height.
  function chosen([x, y]) {
    const { box } = start.panel;
    const within = (value, low, size) => Math.min(Math.max(value, low), low + size);
    const [across, up] = [within(x, box.x, box.width), within(y, box.y, box.height)];
    const level = Math.abs(up - start.y) < 0.15 * box.height;
    return [
      Math.min(start.x, across),
      Math.max(start.x, across),
      level ? box.y : Math.min(start.y, up),
      level ? box.y + box.height : Math.max(start.y, up),
    ];
  }
}

// The same with fingers: two enlarge and move, one moves what is enlarged, and a double tap shows the whole.
function touches(svg, { at, under, enlarge, reset }) {
  let held = null;
  let tapped = 0;
  const places = (event) => [...event.targetTouches].map(at);
  const shares = ({ box }, points) => ({
    x: points.map(([x]) => (x - box.x) / box.width),
    y: points.map(([, y]) => (box.y + box.height - y) / box.height),
  });
  const hold = (event) => {
    const points = places(event);
    const panel = points.length > 0 && points.length < 3 ? under(points[0]) : null;
    if (!panel) return (held = null);
    const found = shares(panel, points);
    // What was under the fingers stays under them.
    held = { panel, count: points.length, x: found.x.map((share) => inside(panel.x, share)), y: found.y.map((share) => inside(panel.y, share)) };
  };
  const inside = ([low, high], share) => low + share * (high - low);
  const moved = ([low, high], values, now) => {
    if (values.length === 1) return within(low + values[0] - inside([low, high], now[0]), high - low);
    // Fingers that are on a line along the other axis say nothing about this one.
    if (Math.abs(now[1] - now[0]) < 0.08 || Math.abs(values[1] - values[0]) < 0.08 * (high - low)) return [low, high];
    const size = Math.min(Math.max((values[1] - values[0]) / (now[1] - now[0]), 1e-4), 1);
    return within(values[0] - now[0] * size, size);
  };
  const within = (low, size) => {
    const first = Math.min(Math.max(low, 0), 1 - size);
    return [first, first + size];
  };
  svg.addEventListener("touchstart", (event) => {
    hold(event);
    const now = event.timeStamp;
    if (event.targetTouches.length === 1 && now - tapped < 350) reset();
    tapped = now;
  }, { passive: true });
  svg.addEventListener("touchmove", (event) => {
    if (!held || event.targetTouches.length !== held.count) return;
    const { panel } = held;
    // With one finger, the page scrolls over a figure that is whole.
    const isWhole = [...panel.x, ...panel.y].join() === "0,1,0,1";
    if ((held.count === 1 && isWhole) || !event.cancelable) return;
    event.preventDefault();
    tapped = 0;
    const now = shares(panel, places(event));
    enlarge(panel, moved(panel.x, held.x, now.x), moved(panel.y, held.y, now.y));
  }, { passive: false });
  for (const end of ["touchend", "touchcancel"]) svg.addEventListener(end, hold, { passive: true });
}

// The fractions `from` to `to` of a range.
function part([low, high], [from, to]) {
  return [low + from * (high - low), low + to * (high - low)];
}

function make(name, attributes, space = "http://www.w3.org/2000/svg") {
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// A panel with its data in a group that can be moved, and its ticks.
function panelOf(svg, about) {
  const axes = svg.getElementById(about.id);
  const background = axes?.querySelector('g[id*="patch_"] path');
  if (!background) return null;
  const box = background.getBBox();
  const ticks = [...axes.querySelectorAll('g[id*="tick_"]')];
  const moved = [];
  for (const element of axes.querySelectorAll("[clip-path]")) {
    if (element.closest('g[id*="tick_"], g[id*="legend"]')) continue;
    const clip = make("g", { "clip-path": element.getAttribute("clip-path") });
    const group = make("g", {});
    element.replaceWith(clip);
    clip.append(group);
    group.append(element);
    element.removeAttribute("clip-path");
    moved.push(group);
  }
  for (const path of axes.querySelectorAll("path")) path.setAttribute("vector-effect", "non-scaling-stroke");
  const scale = make("g", {});
  axes.append(scale);
  return { about, box, ticks, moved, scale, x: [0, 1], y: [0, 1] };
}

// Shows the ranges x and y of a panel, as fractions of the whole.
function show(panel, x, y) {
  panel.x = x;
  panel.y = y;
  if ([...x, ...y].join() === "0,1,0,1") {
    for (const group of panel.moved) group.removeAttribute("transform");
    for (const tick of panel.ticks) tick.style.display = "";
    panel.scale.replaceChildren();
    return;
  }
  const { box } = panel;
  const [a, d] = [1 / (panel.x[1] - panel.x[0]), 1 / (panel.y[1] - panel.y[0])];
  const e = box.x - a * (box.x + panel.x[0] * box.width);
  const f = box.y - d * (box.y + (1 - panel.y[1]) * box.height);
  for (const group of panel.moved) group.setAttribute("transform", `matrix(${a} 0 0 ${d} ${e} ${f})`);
  for (const tick of panel.ticks) tick.style.display = "none";
  const labels = panel.ticks.filter((tick) => tick.querySelector("text"));
  const draws = (kind) => labels.some((tick) => tick.id.includes(`${kind}tick_`));
  panel.scale.replaceChildren(...ticksOf(panel, "x", draws("x")), ...ticksOf(panel, "y", draws("y")));
}

// Grid lines and labels of the shown part of an axis.
function ticksOf({ about, box, x, y }, key, labelled) {
  const [low, high, isLog] = about[key];
  const [map, unmap] = isLog ? [Math.log10, (value) => 10 ** value] : [(value) => value, (value) => value];
  const part = key === "x" ? x : y;
  const [from, to] = part.map((fraction) => map(low) + fraction * (map(high) - map(low)));
  const elements = [];
  for (const value of values(unmap(from), unmap(to), isLog)) {
    const fraction = (map(value) - from) / (to - from);
    const place = key === "x" ? box.x + fraction * box.width : box.y + box.height - fraction * box.height;
    const d = key === "x" ? `M${place} ${box.y}V${box.y + box.height}` : `M${box.x} ${place}H${box.x + box.width}`;
    elements.push(make("path", { d, class: "grid" }));
    if (!labelled) continue;
    const [left, top] = key === "x" ? [place, box.y + box.height + 11] : [box.x - 5, place + 3];
    const text = make("text", { x: left, y: top, class: "tick", "text-anchor": key === "x" ? "middle" : "end" });
    text.textContent = Number(value.toPrecision(12)).toString();
    elements.push(text);
  }
  return elements;
}

// Round values between two: 1, 2 or 5 times a power of ten apart, or on a wide logarithmic axis the powers themselves.
function values(from, to, isLog) {
  const found = [];
  if (isLog && to / from > 20) {
    for (let power = Math.ceil(Math.log10(from)); 10 ** power <= to; power += 1) found.push(10 ** power);
    return found;
  }
  const power = 10 ** Math.floor(Math.log10((to - from) / 4));
  const step = power * [1, 2, 5, 10].find((one) => (to - from) / (one * power) <= 6);
  for (let number = Math.ceil(from / step); number * step <= to; number += 1) found.push(number * step);
  return found;
}
