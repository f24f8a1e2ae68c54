"""The test ``skyplex``: frame lengths, rates and number of terminals of Skyplex DATA (section 3),
the access network of VOTOS, VoIP and UCIT."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bentpipe import ScenarioError
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.results.runs import Run
from bentpipe.scenario.facts import dama_of, facts
from bentpipe.studies import Reproduction, Statement, bar, judge

HERE: Final = Path(__file__).parent

#: Number of frames per super-frame: three multi-frames of L = 8 frames.
FRAMES: Final = 3 * 8
#: Size of a packet that fills a burst, in bytes.
PACKET: Final = 8 * 188
#: Overrides for a load that fills the assignment of a terminal.
FULL: Final = (
    "flow.transfer.transport=udp",
    f'flow.transfer.app={{kind="cbr",rate="8 Mbit/s",datagram="{PACKET - 28} B"}}',
    'duration="60 s"',
    'record.traces=["datagram"]',
)
#: Overrides for the minimum assignment: one burst per multi-frame.
MINIMUM: Final = (*FULL, "network.sat.assignment=cir", 'network.sat.cir="44 kbit/s"')
#: Overrides by case: the minimum assignment; the minimum assignment with L = 1, one burst per
#: frame; all bursts of a low-rate carrier; all bursts of a high-rate carrier.
CASES: Final[dict[str, tuple[str, ...]]] = {
    "least": MINIMUM,
    "least, L = 1": (*MINIMUM, 'network.sat.cir="352 kbit/s"', "network.sat.frames=1"),
    "low": (*FULL, "network.sat.access=scpc"),
    "high": (*FULL, "network.sat.access=scpc", "network.sat.channel=high-rate"),
}
#: Maximum number of terminals in the search for the channel's limit.
MAX_TERMINALS: Final = 100


def terminals(count: int) -> tuple[str, ...]:
    """Returns the overrides for this number of terminals with the minimum assignment each."""
    names = ",".join(f'"st{number}"' for number in range(1, count + 1))
    return (*MINIMUM, f"network.sat.terminals=[{names}]")


def accepted(count: int) -> bool:
    """Returns true if the channel has enough capacity for this number of terminals."""
    try:
        facts(HERE / "votos.toml", terminals(count))
    except ScenarioError:
        return False
    return True


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Measures frame lengths, rates and the maximum number of terminals, and judges the
    statements."""
    jobs = {
        name: Job(f"skyplex-{number}", HERE / "votos.toml", changes)
        for number, (name, changes) in enumerate(CASES.items())
    }
    with bar("skyplex", shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    (flow,) = facts(HERE / "votos.toml")["flows"]
    assert flow["there"] is not None
    dama = dama_of(flow["there"][0])
    assert dama is not None, "the path has demand assignment"
    superframe_ms = 1e3 * dama["superframe_s"]
    ours: dict[str, float | None] = {
        "skyplex-superframe": round(superframe_ms, 3),
        "skyplex-frame": round(superframe_ms / FRAMES, 4),
        "skyplex-terminals": float(next(n for n in range(MAX_TERMINALS) if not accepted(n + 1))),
        "skyplex-least": round(rate_kbit_s(runs[jobs["least"]]), 2),
        "skyplex-least-frame": round(rate_kbit_s(runs[jobs["least, L = 1"]]), 2),
        "skyplex-low": round(rate_kbit_s(runs[jobs["low"]]) / 1e3, 4),
        "skyplex-high": round(rate_kbit_s(runs[jobs["high"]]) / 1e3, 4),
    }
    return Reproduction(judge(statements, ours))


def rate_kbit_s(run: Run) -> float:
    """Returns the arrival rate of packets in kbit/s, IP and UDP headers included, from the first to
    the last arrival."""
    times = run.trace("datagram")["time"]
    return PACKET * 8 * (len(times) - 1) / float(times[-1] - times[0]) / 1e3
