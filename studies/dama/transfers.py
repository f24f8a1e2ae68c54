"""Simulations of T_IV (files) and T_V (web pages), and their transfer times."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bentpipe.campaign.jobs import Job
from bentpipe.plots.data import superframes
from bentpipe.predict import count_round_trips, transfer_time
from bentpipe.results.runs import Run
from bentpipe.simulation import Progress
from bentpipe.statistics import Mean, mean_of

from .curves import CONGESTIONS, CONTROLS, CRA, SCHEMES, SECTIONS, Congestion, Scheme
from .setups import PAPER, Setup

HERE: Final = Path(__file__).parent

#: File sizes of T_IV.
SIZES_MB: Final = tuple(range(1, 13))

#: Mean size of an object in bytes, by the class of the page. A class is named by the mean size of
#: its pages, which have eight objects. For 34.5 kB, the paper's text has 4.4 kB per object, but
#: 34.5 kB / 8 is 4.3 kB.
PAGES: Final = {"34.5 kB": 4312, "144 kB": 18_000, "440 kB": 55_000}
Page = Literal["34.5 kB", "144 kB", "440 kB"]

#: Seeds of the pages of a class. Each seed is one page in one run.
SEEDS: Final = tuple(range(1, 41))

#: Number of objects of a page if the paper's "eight objects per connection" applies to each of the
#: page's two connections. :class:`Download` has eight objects per page by default.
OBJECTS_PER_PAGE: Final = 16
#: Numbers of the offsets within a superframe at which a uniform page is requested. The offsets are
#: equally spaced.
START_OFFSETS: Final = tuple(range(12))
#: Duration of a superframe.
SUPERFRAME_MS: Final = 94.0

#: The paper's RTT_0, the round-trip time without DAMA delay.
RTT0_S: Final = 0.5
#: The paper's initial slow-start threshold, in segments.
SSTHRESH: Final = 20
#: Payload of a segment, in bytes.
SEGMENT: Final = 1460


@dataclass(frozen=True)
class File:
    """The parameters of a transfer of T_IV."""

    scheme: Scheme
    size_mb: float
    #: True if the terminal has a constant slot in addition to the slots that it requests.
    slot: bool = True
    #: True if the gateway sends the file to the terminal.
    forward: bool = False

    @property
    def job(self) -> Job:
        """Returns the job that runs this case."""
        changes: tuple[str, ...] = (*_scheme(self.scheme), f'flow.file.app.size="{self.size_mb} MB"')
        if not self.slot:
            changes = (*changes, 'network.sat.return.dama.cra="0 kbit/s"')
        if self.forward:
            changes = (*changes, "flow.file.from=gw", "flow.file.to=st1")
        name = f"file-{'forward-' if self.forward else ''}{self.scheme}-{self.size_mb}"
        return Job(name if self.slot else f"{name}-no-slot", HERE / "file.toml", changes)


@dataclass(frozen=True)
class Transfer:
    """The simulated and predicted times of a file transfer."""

    #: Simulated transfer time.
    simulated_s: float
    #: Simulated mean RTT.
    rtt_s: float
    #: Transfer time by equation 9 as printed, with the simulated mean RTT.
    equation_s: float
    #: Transfer time by equation 9 with counted instead of printed round trips, and with the
    #: simulated mean RTT.
    counted_s: float
    #: Transfer time by equations 9 to 11, without a simulated value.
    predicted_s: float
    #: Efficiency of the terminal's slots: used bytes in percent of assigned bytes.
    efficiency_percent: float

    @property
    def deviation_percent(self) -> float:
        """Time by equation 9 minus simulated time, in percent of the simulated time."""
        return 100 * (self.equation_s / self.simulated_s - 1)


@dataclass(frozen=True)
class UniformDownload:
    """The parameters of a page with sixteen objects of one size. An acknowledgment takes 64 bytes
    of the return link, as in T_I-causes (``SECTIONS``)."""

    congestion: Congestion
    scheme: Scheme
    page: Page
    #: One of :data:`START_OFFSETS`.
    start_offset: int

    @property
    def job(self) -> Job:
        """Returns the job that runs this case."""
        name = f"even-page-{self.congestion}-{self.scheme}-{self.page.replace(' ', '')}-{self.start_offset}"
        size = round(1000 * float(self.page.split()[0]) / OBJECTS_PER_PAGE)
        changes = (
            *_scheme(self.scheme),
            *SECTIONS.overrides,
            f"flow.page.transport.congestion={CONTROLS[self.congestion]}",
            f'flow.page.start="{SUPERFRAME_MS * self.start_offset / len(START_OFFSETS):.3f} ms"',
            f'flow.page.app.object="{size} B"',
            # The limits of the distribution must differ.
            f'flow.page.app.object_min="{size - 1} B"',
            f'flow.page.app.object_max="{size + 1} B"',
            *(f"flow.page.app.{key}={OBJECTS_PER_PAGE}" for key in ("objects", "objects_min", "objects_max")),
        )
        return Job(name, HERE / "page.toml", changes)


@dataclass(frozen=True)
class Download:
    """The parameters of a page of T_V."""

    congestion: Congestion
    scheme: Scheme
    page: Page
    seed: int
    #: Mean number of objects per page.
    objects: int = 8

    @property
    def job(self) -> Job:
        """Returns the job that runs this case."""
        name = f"page-{self.congestion}-{self.scheme}-{self.page.replace(' ', '')}-{self.objects}-{self.seed}"
        changes = (
            *_scheme(self.scheme),
            f"flow.page.transport.congestion={CONTROLS[self.congestion]}",
            f'flow.page.app.object="{PAGES[self.page]} B"',
            f"flow.page.app.objects={self.objects}",
        )
        return Job(name, HERE / "page.toml", changes, self.seed)


def _scheme(scheme: Scheme) -> tuple[str, str]:
    return f"network.sat.return.dama.scheme={scheme}", f'network.sat.return.dama.cra="{CRA[scheme]}"'


#: The files of T_IV.
FILES: Final = [File(*parts) for parts in itertools.product(SCHEMES, SIZES_MB)]
#: The same files on the forward link.
FORWARD_FILES: Final = [File(*parts, forward=True) for parts in itertools.product(SCHEMES, SIZES_MB)]
#: A file as short as a page: 0.1 MB.
SHORT_FILE: Final = File("cra", 0.1)
#: The files of the schemes with slots on request (RBDC, VBDC), without the constant slot.
FILES_WITHOUT_SLOT: Final = [File(scheme, size, slot=False) for scheme in SCHEMES[1:] for size in SIZES_MB]

#: The parameters of a bar of figure 22.
Bar = tuple[Congestion, Scheme, Page]
BARS: Final[list[Bar]] = list(itertools.product(CONGESTIONS, SCHEMES, PAGES))  # type: ignore[arg-type]


def simulate_files(
    files: Sequence[File], out: Path, progress: Progress, setup: Setup = PAPER
) -> dict[File, Transfer]:
    """Runs files of T_IV and returns their transfer times."""
    runs = setup.run({file: file.job for file in files}, out, progress)
    return {file: _transfer(file, run) for file, run in runs.items()}


def _transfer(file: File, run: Run) -> Transfer:
    row = run.flows.row(0, named=True)
    rtt_s = row["rtt_mean"]
    predicted = transfer_time(round(file.size_mb * 1e6), scheme=file.scheme, ssthresh=SSTHRESH)
    slots = superframes(run.trace("dama"))
    during = slots["time"] < row["transaction_max"]
    used, assigned = slots["used"][during].sum(), slots["assigned"][during].sum()
    counted = count_round_trips(predicted.transfer_segments, 1, SSTHRESH)
    return Transfer(
        simulated_s=row["transaction_max"],
        rtt_s=rtt_s,
        equation_s=rtt_s * predicted.printed_round_trips,
        counted_s=rtt_s * (1 + counted),
        predicted_s=predicted.printed_s,
        efficiency_percent=100 * float(used / assigned),
    )


def simulate_pages(
    out: Path, progress: Progress, objects: int = 8, setup: Setup = PAPER
) -> Mapping[Bar, Mean]:
    """Runs T_V and returns the mean transfer time of a page in seconds, for each bar.

    A seed has the same page with every scheme and congestion control.
    """
    return _mean_times(
        {bar: [Download(*bar, seed, objects).job for seed in SEEDS] for bar in BARS}, out, progress, setup
    )


def small_page_slots(out: Path, progress: Progress, setup: Setup = PAPER) -> list[float]:
    """Runs the smallest pages over RBDC and VBDC and returns the used slots per frame of all
    superframes in which data were sent."""
    jobs = [
        Download(congestion, scheme, "34.5 kB", seed).job
        for congestion in CONGESTIONS
        for scheme in SCHEMES[1:]
        for seed in SEEDS
    ]
    runs = setup.run({job: job for job in jobs}, out, progress)
    used = [superframes(run.trace("dama"))["used"] for run in runs.values()]
    return [float(slots) for of in used for slots in of if slots > 0]


def simulate_uniform_pages(out: Path, progress: Progress) -> Mapping[Bar, Mean]:
    """Runs T_V with pages of sixteen objects of one size, and returns the mean transfer time of a
    page in seconds, for each bar."""
    return _mean_times(
        {bar: [UniformDownload(*bar, offset).job for offset in START_OFFSETS] for bar in BARS},
        out,
        progress,
        PAPER,
    )


def _mean_times(
    jobs: Mapping[Bar, Sequence[Job]], out: Path, progress: Progress, setup: Setup
) -> Mapping[Bar, Mean]:
    runs = setup.run({job: job for jobs_of_bar in jobs.values() for job in jobs_of_bar}, out, progress)

    def transfer_s(job: Job) -> float:
        row = runs[job].flows.row(0, named=True)
        if row["transactions"] != 1:
            raise RuntimeError(f"{job.name}: the page did not arrive by the end of the run")
        return float(row["transaction_max"])

    return {bar: mean_of([transfer_s(job) for job in jobs_of_bar]) for bar, jobs_of_bar in jobs.items()}
