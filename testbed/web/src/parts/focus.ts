// Restores the focus after the focused element was removed or disabled, such as the button of a
// removed row. The focus moves to the nearest enclosing region, or to the heading of the view, so
// that keyboard and screen reader continue from there.

let around: Element[] = [];

document.addEventListener("focusin", (event) => {
  around = [];
  for (let one = event.target instanceof Element ? event.target : null; one; one = one.parentElement)
    around.push(one);
});

const PLACES = "section, [role=region], dialog, main";

/** The element that receives the focus for a region: the region if it is focusable, otherwise its
 * heading. */
function place(part: Element): HTMLElement | null {
  if (part.getAttribute("tabindex") === "0") return part as HTMLElement;
  const heading = part.querySelector<HTMLElement>("h1, h2");
  if (heading) heading.tabIndex = -1;
  return heading;
}

function restore(): void {
  if (around.length === 0) return;
  const [had, ...outer] = around;
  // A disabled element keeps the focus until a later frame.
  if (document.activeElement !== document.body && document.activeElement !== had) return;
  const gone = !had!.isConnected || had!.matches(":disabled");
  // An element that is still there lost the focus because the user moved on.
  if (!gone) return;
  around = [];
  // A dialog is outside of the view that opened it.
  const view = document.querySelector("main");
  for (const part of view ? [...outer, view] : outer) {
    const next = part.isConnected && part.matches(PLACES) && place(part);
    if (!next) continue;
    next.focus();
    return;
  }
}

// Runs after rendering, because a new view may have taken the focus.
let due = false;
new MutationObserver(() => {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    restore();
  });
}).observe(document.body, {
  childList: true,
  subtree: true,
  attributes: true,
  attributeFilter: ["disabled"],
});
