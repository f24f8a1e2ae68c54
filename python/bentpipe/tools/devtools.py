"""Exports a path to the network conditions of Chrome DevTools, as a module of JavaScript for
Playwright, Puppeteer and other clients of the protocol."""

from __future__ import annotations

import json
from typing import Any, Final

from .course import Course, Step
from .shell import comments

STEP_MS: Final = 1000
LOSSES: Final = (
    "Conditions apply to the requests of the page, above TCP and TLS: handshakes and congestion control are "
    "those of the real network.",
    "The latency is one round trip per request. Losses and the queue apply to WebRTC only.",
)
CHANGING: Final = ("In a step without any delivery, the rate is 1 byte/s.",)

_TEXT: Final = """\
// With Playwright: import {{ impose }} from './conditions.mjs';
//   await impose(await page.context().newCDPSession(page));
// With Puppeteer: await impose(await page.createCDPSession());

export const steps = [
{steps}];

/** Imposes the conditions of each step at its time. Resolves when the first step is in force, and
 * continues until the last one. */
export async function impose(session) {{
  await session.send('Network.enable');
  for (const {{ at, conditions }} of steps.slice(1)) {{
    // After the end of the session there is nothing to change.
    setTimeout(() => session.send('Network.emulateNetworkConditions', conditions).catch(() => {{}}), at);
  }}
  await session.send('Network.emulateNetworkConditions', steps[0].conditions);
}}
"""


def files(course: Course) -> dict[str, str]:
    """Returns the module ``conditions.mjs``."""
    steps = [{"at": step.at_ms, "conditions": _conditions(course, step)} for step in course.steps(STEP_MS)]
    lines = "".join(f"  {json.dumps(step)},\n" for step in steps)
    head = comments(course, LOSSES, CHANGING, STEP_MS, "//")
    return {"conditions.mjs": f"{head}\n{_TEXT.format(steps=lines)}"}


def _conditions(course: Course, step: Step) -> dict[str, Any]:
    """Returns the parameters of ``Network.emulateNetworkConditions``: bytes per second, ms and
    percent."""
    return {
        "offline": False,
        "latency": round(1e3 * (step.down.delay_s + step.up.delay_s), 3),
        "downloadThroughput": max(1, round(step.down.rate_bit_s / 8)),
        "uploadThroughput": max(1, round(step.up.rate_bit_s / 8)),
        "packetLoss": round(100 * course.down.loss, 6),
        "packetQueueLength": course.down.queue_packets,
    }
