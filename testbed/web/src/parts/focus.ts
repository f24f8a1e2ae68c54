// The focus when what had it is removed or disabled (a row, a button that was for one moment): it goes to the nearest
// region around it, or to the heading of the view, so that the keyboard and a screen reader continue from there.

let around: Element[] = [];

document.addEventListener("focusin", (event) => {
  around = [];
  for (let one = event.target instanceof Element ? event.target : null; one; one = one.parentElement)
    around.push(one);
});

const PLACES = "section, [role=region], dialog, main";

/** What gets the focus for a part of the page: itself if it can, or else its heading. */
function place(part: Element): HTMLElement | null {
  if (part.getAttribute("tabindex") === "0") return part as HTMLElement;
  const heading = part.querySelector<HTMLElement>("h1, h2");
  if (heading) heading.tabIndex = -1;
  return heading;
}

function restore(): void {
  if (around.length === 0) return;
  const [had, ...outer] = around;
  // What is disabled has it until some later frame.
  if (document.activeElement !== document.body && document.activeElement !== had) return;
  const gone = !had!.isConnected || had!.matches(":disabled");
  // Otherwise the user has left it.
  if (!gone) return;
  around = [];
  for (const part of outer) {
    const next = part.isConnected && part.matches(PLACES) && place(part);
    if (!next) continue;
    next.focus();
    return;
  }
}

// After the views have been drawn: a new one may have taken the focus.
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
