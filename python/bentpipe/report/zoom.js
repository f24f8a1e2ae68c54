// Enlarges a part of a figure: drag over it; double-click shows the whole again. Panels that share their time axis move
// together. The figures are matplotlib's SVG; data-axes of the svg element has the limits of each panel: its id, and for x and y
// the least and greatest value and whether the axis is logarithmic.
"use strict";

for (const svg of document.querySelectorAll("svg[data-axes]")) {
  const panels = JSON.parse(svg.dataset.axes).map((about) => panelOf(svg, about)).filter(Boolean);
  let start = null;
  let mark = null;
  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [point.x, point.y];
  };
  svg.addEventListener("pointerdown", (event) => {
    const [x, y] = at(event);
    const panel = panels.find(({ box }) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height);
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
    const whole = JSON.stringify(panel.about.x);
    for (const one of panels) {
      const own = one === panel;
      if (own || JSON.stringify(one.about.x) === whole) narrow(one, across, own && bottom - top >= 4 ? up : [0, 1]);
    }
  });
  svg.addEventListener("pointercancel", () => {
    start = null;
    mark?.remove();
  });
  svg.addEventListener("dblclick", () => panels.forEach(reset));

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

function make(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
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

// Shows the fractions `across` and `up` of what a panel shows now.
function narrow(panel, across, up) {
  const part = ([low, high], [from, to]) => [low + from * (high - low), low + to * (high - low)];
  panel.x = part(panel.x, across);
  panel.y = part(panel.y, up);
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

function reset(panel) {
  panel.x = [0, 1];
  panel.y = [0, 1];
  for (const group of panel.moved) group.removeAttribute("transform");
  for (const tick of panel.ticks) tick.style.display = "";
  panel.scale.replaceChildren();
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
