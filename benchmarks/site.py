"""Measures the interactive figures of the site: first answer, redraws while a slider moves, memory.

    .venv/bin/python benchmarks/site.py

The figure is an upload of 60 s over GEO (docs/gallery/queue-length.md), opened from a file in
Chromium. Needs the built script of the site (scripts/web site).
"""

from __future__ import annotations

import copy
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from manual import tries  # noqa: E402 - needs the path above
from rigs import sites  # noqa: E402 - needs the path above
from rigs.testbeds import chromium  # noqa: E402

SECONDS = 10
REPETITIONS = 5

#: Moves the slider at each frame for some seconds, always to a value that was not shown before, and
#: counts the drawings with another result.
DRAG = """([slider, sentence, seconds]) => new Promise((resolve) => {
  let [drawn, position] = [0, Number(slider.value)];
  const watch = new MutationObserver(() => { drawn += 1; });
  watch.observe(sentence, { childList: true });
  const begin = performance.now();
  const move = () => {
    if (performance.now() - begin > 1000 * seconds) {
      watch.disconnect();
      resolve(1000 * drawn / (performance.now() - begin));
      return;
    }
    slider.value = String(++position);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    requestAnimationFrame(move);
  };
  move();
})"""

#: Moves the slider once, and returns the milliseconds until the sentence appears.
FIRST = """([slider, sentence]) => new Promise((resolve) => {
  const begin = performance.now();
  new MutationObserver(() => resolve(performance.now() - begin)).observe(sentence, { childList: true });
  slider.value = String(Number(slider.value) + 1);
  slider.dispatchEvent(new Event("input", { bubbles: true }));
})"""


def spec() -> dict[str, dict[str, Any]]:
    """Returns the block with a slider of 2000 values."""
    found = copy.deepcopy(sites.specs(ROOT / "docs/gallery/queue-length.md"))
    values = [300 + place / 10 for place in range(2000)]
    for block in found.values():
        block["controls"][0].update(
            positions=tries.positions(values, "kB", ["link.sat.return.queue.bytes"]), start=0
        )
    return found


def main() -> None:
    """Prints the measurements of some repetitions, and the load of the machine."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page_file = sites.write(Path(folder) / "page", spec())
        for _ in range(REPETITIONS):
            page = browser.new_page()
            page.goto(page_file.as_uri())
            slider = page.get_by_label("Queue of the modem").element_handle()
            sentence = page.locator(".try-sentence").element_handle()
            first = page.evaluate(FIRST, [slider, sentence])
            page.wait_for_timeout(1000)
            rate = page.evaluate(DRAG, [slider, sentence, SECONDS])
            memory = sites.private_bytes(browser)
            print(
                f"first answer {first / 1000:.2f} s, {rate:.1f} redraws per second, "
                f"memory {memory / 1e6:.0f} MB, load {os.getloadavg()[0]:.1f}"
            )
            page.close()


if __name__ == "__main__":
    main()
