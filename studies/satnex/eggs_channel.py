"""The test ``eggs-channel`` of EGGS: the statistical channel of the long-haul emulator, with bit
error rates of 1e-3 to 1e-2 before decoding, and with several codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bentpipe.campaign.jobs import Job, run_all
from bentpipe.results.runs import Run
from bentpipe.studies import Reproduction, Statement, Table, bar, judge

HERE: Final = Path(__file__).parent

#: Bit error rates before decoding: minimum, geometric mean and maximum of the paper's range.
BIT_ERRORS: Final = (0.001, 0.003, 0.01)
#: Codes of CCSDS 131.0-B for TM frames; the code of the paper's emulator is unknown.
CODES: Final = ("none", "reed-solomon", "convolutional", "concatenated", "turbo", "ldpc")
#: One-way delay of the long-haul link.
DELAY_S: Final = 50
#: Number of measurements of one mote: ten datagrams per second for ten minutes.
MEASURES: Final = 6000


def setup(code: str, bit_errors: float) -> tuple[str, ...]:
    """Returns the overrides of ``eggs-emulator.toml`` for a code and a bit error rate."""
    link, coded = "link.long-haul", f'code={{kind="{code}"}}'
    return (
        f'duration="{MEASURES // 10 + DELAY_S + 10} s"',
        f'{link}.delay="{DELAY_S} s"',
        f'{link}.framing={{kind="space",frame="tm",{coded}}}',
        f'{link}.error={{kind="coded",ber={bit_errors},{coded}}}',
        f"flow.measures.app.bundles={MEASURES}",
    )


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulates each code at each bit error rate. The paper does not have this experiment, so there
    are no statements."""
    jobs = {
        (code, rate): Job(f"eggs-channel-{code}-{number}", HERE / "eggs-emulator.toml", setup(code, rate))
        for code in CODES
        for number, rate in enumerate(BIT_ERRORS)
    }
    with bar("eggs-channel", shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    parts = {key: part(runs[job]) for key, job in jobs.items()}
    return Reproduction(judge(statements, {}), tables=[table_of(parts)])


def part(run: Run) -> float:
    """Returns the fraction of measurements that arrive."""
    return float(run.flows["delivered_packets"][0]) / MEASURES


def table_of(parts: Mapping[tuple[str, float], float]) -> Table:
    """Returns the table of the fraction of measurements that arrive, by code and bit error rate."""
    rows = [[code, *(f"{parts[code, rate]:.3f}" for rate in BIT_ERRORS)] for code in CODES]
    return Table(
        "Fraction of measures that arrive, by the bit error rate before decoding",
        ["code", *map(str, BIT_ERRORS)],
        rows,
    )
