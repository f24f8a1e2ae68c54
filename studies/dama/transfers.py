"""T_IV and T_V, files and web pages: their simulations and transfer times."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.data import superframes
from bentpipe.predict import count_round_trips, transfer_time
from bentpipe.results.runs import Run
from bentpipe.simulation import Progress
from bentpipe.statistics import Mean, mean_of

from .curves import CONGESTIONS, CONTROLS, CRA, SCHEMES, SECTIONS, Congestion, Scheme

HERE: Final = Path(__file__).parent

SIZES_MB: Final = tuple(range(1, 13))

#: Classes of pages by their mean size, with the mean size of their eight objects, in bytes. 34.5 kB
#: are 4.3 kB per object, not the 4.4 kB of the text.
PAGES: Final = {"34.5 kB": 4312, "144 kB": 18_000, "440 kB": 55_000}
Page = Literal["34.5 kB", "144 kB", "440 kB"]

#: Number of fetched pages per class, each in its own run.
SEEDS: Final = tuple(range(1, 41))

#: The other reading of the paper's "eight objects per connection": sixteen objects per page on its
#: two connections.
SIXTEEN: Final = 16
#: Even pages are identical; only the request time within a superframe varies.
MOMENTS: Final = tuple(range(12))
SUPERFRAME_MS: Final = 94.0

#: RTT_0 and ssthresh of the paper, and the payload of a segment.
RTT0_S: Final = 0.5
SSTHRESH: Final = 20
SEGMENT: Final = 1460


@dataclass(frozen=True)
class File:
    """A file of a size in megabytes."""

    scheme: Scheme
    size_mb: float
    #: True if the terminal has its constant slot in addition to requested slots.
    slot: bool = True

    @property
    def job(self) -> Job:
        """Returns the job whose run gives this case's values."""
        changes: tuple[str, ...] = (*_scheme(self.scheme), f'flow.file.app.size="{self.size_mb} MB"')
        if not self.slot:
            changes = (*changes, 'network.sat.return.dama.cra="0 kbit/s"')
        name = f"file-{self.scheme}-{self.size_mb}"
        return Job(name if self.slot else f"{name}-no-slot", HERE / "file.toml", changes)


@dataclass(frozen=True)
class Transfer:
    """The transfer of a file. Times in seconds: simulated; by equation 9 with the simulated mean
    RTT, as printed and with counted round trips; and by equations 9 to 11 alone. Also the
    efficiency of the terminal's slots."""

    simulated_s: float
    rtt_s: float
    equation_s: float
    counted_s: float
    alone_s: float
    efficiency_percent: float

    @property
    def deviation_percent(self) -> float:
        """The distance of equation 9 from the simulation, in percent of the simulation."""
        return 100 * (self.equation_s / self.simulated_s - 1)


@dataclass(frozen=True)
class EvenDownload:
    """A page of a class with sixteen objects of one size. Acknowledgments have 64 bytes as in
    T_I-causes (``SECTIONS``). ``moment`` is one of :data:`MOMENTS`."""

    congestion: Congestion
    scheme: Scheme
    page: Page
    moment: int

    @property
    def job(self) -> Job:
        """Returns the job whose run gives this case's values."""
        name = f"even-page-{self.congestion}-{self.scheme}-{self.page.replace(' ', '')}-{self.moment}"
        size = round(1000 * float(self.page.split()[0]) / SIXTEEN)
        changes = (
            *_scheme(self.scheme),
            *SECTIONS.overrides,
            f"flow.page.transport.congestion={CONTROLS[self.congestion]}",
            f'flow.page.start="{SUPERFRAME_MS * self.moment / len(MOMENTS):.3f} ms"',
            f'flow.page.app.object="{size} B"',
            # The bounds of the distribution must differ.
            f'flow.page.app.object_min="{size - 1} B"',
            f'flow.page.app.object_max="{size + 1} B"',
            *(f"flow.page.app.{key}={SIXTEEN}" for key in ("objects", "objects_min", "objects_max")),
        )
        return Job(name, HERE / "page.toml", changes)


@dataclass(frozen=True)
class Download:
    """A page of a class with a congestion control and a scheme. ``objects`` is their mean
    number."""

    congestion: Congestion
    scheme: Scheme
    page: Page
    seed: int
    objects: int = 8

    @property
    def job(self) -> Job:
        """Returns the job whose run gives this case's values."""
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


FILES: Final = [File(*parts) for parts in itertools.product(SCHEMES, SIZES_MB)]
#: A file as short as a page, in megabytes.
SHORT: Final = File("cra", 0.1)
#: The files of the on-demand schemes without the constant slot.
NO_SLOT: Final = [File(scheme, size, slot=False) for scheme in SCHEMES[1:] for size in SIZES_MB]

#: A bar of figure 22.
Bar = tuple[Congestion, Scheme, Page]
BARS: Final[list[Bar]] = list(itertools.product(CONGESTIONS, SCHEMES, PAGES))  # type: ignore[arg-type]


def simulate_files(files: Sequence[File], out: Path, progress: Progress) -> dict[File, Transfer]:
    """Returns the runs of T_IV."""
    jobs = {file: file.job for file in files}
    runs = run_all(list(jobs.values()), out, progress)
    return {file: _transfer(file, runs[job]) for file, job in jobs.items()}


def _transfer(file: File, run: Run) -> Transfer:
    row = run.flows.row(0, named=True)
    rtt_s = row["rtt_mean"]
    predicted = transfer_time(round(file.size_mb * 1e6), scheme=file.scheme, ssthresh=SSTHRESH)
    slots = superframes(run.trace("dama"))
    there = slots["time"] < row["transaction_max"]
    used, assigned = slots["used"][there].sum(), slots["assigned"][there].sum()
    counted = count_round_trips(predicted.transfer_segments, 1, SSTHRESH)
    return Transfer(
        simulated_s=row["transaction_max"],
        rtt_s=rtt_s,
        equation_s=rtt_s * predicted.printed_round_trips,
        counted_s=rtt_s * (1 + counted),
        alone_s=predicted.printed_s,
        efficiency_percent=100 * float(used / assigned),
    )


def simulate_pages(out: Path, progress: Progress, objects: int = 8) -> Mapping[Bar, Mean]:
    """Returns the runs of T_V: mean time of a page in seconds for each bar, with its confidence
    interval.

    A seed has the same pages with every scheme and congestion control.
    """
    return _mean_times(
        {bar: [Download(*bar, seed, objects).job for seed in SEEDS] for bar in BARS}, out, progress
    )


def simulate_even_pages(out: Path, progress: Progress) -> Mapping[Bar, Mean]:
    """Returns the same for pages of sixteen objects of one size."""
    return _mean_times(
        {bar: [EvenDownload(*bar, moment).job for moment in MOMENTS] for bar in BARS}, out, progress
    )


def _mean_times(jobs: Mapping[Bar, Sequence[Job]], out: Path, progress: Progress) -> Mapping[Bar, Mean]:
    runs = run_all([job for several in jobs.values() for job in several], out, progress)

    def took_s(job: Job) -> float:
        row = runs[job].flows.row(0, named=True)
        if row["transactions"] != 1:
            raise RuntimeError(f"{job.name}: the page has not arrived by the end of the run")
        return float(row["transaction_max"])

    return {bar: mean_of([took_s(job) for job in several]) for bar, several in jobs.items()}
