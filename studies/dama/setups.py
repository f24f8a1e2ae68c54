"""Set-ups of the whole study: the one that the paper describes, and variations of it."""

from __future__ import annotations

import tomllib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from bentpipe.campaign.jobs import Job, run_all
from bentpipe.results.runs import Run
from bentpipe.simulation import Progress

Case = TypeVar("Case", bound=Hashable)


@dataclass(frozen=True)
class Setup:
    """A set-up: overrides of every scenario. The overrides of a test take precedence."""

    #: The name of the set-up, with which ids of published.csv begin; empty for the paper's.
    name: str = ""
    overrides: tuple[str, ...] = ()
    #: Overrides of each flow, relative to the flow.
    of_flows: tuple[str, ...] = ()

    def applied(self, job: Job) -> Job:
        """Returns a job of the study in this set-up."""
        if not self.name:
            return job
        assert isinstance(job.scenario, Path)
        flows = tomllib.loads(job.scenario.read_text(encoding="utf-8"))["flow"]
        names = [flow["name"] for flow in flows if "kind" in flow["transport"]]
        of_flows = [f"flow.{name}.{key}" for name in names for key in self.of_flows]
        overrides = (*self.overrides, *of_flows, *job.overrides)
        return replace(job, name=f"{self.name}-{job.name}", overrides=overrides)

    def run(self, jobs: Mapping[Case, Job], out: Path, progress: Progress) -> dict[Case, Run]:
        """Runs jobs in this set-up and returns their runs."""
        applied = {case: self.applied(job) for case, job in jobs.items()}
        runs = run_all(list(applied.values()), out, progress)
        return {case: runs[job] for case, job in applied.items()}

    def named(self, values: Mapping[str, float | None]) -> dict[str, float | None]:
        """Returns measured values by their ids in this set-up."""
        return {f"{self.name}-{one}" if self.name else one: value for one, value in values.items()}


#: The set-up of the paper: terminals access their queue once in a superframe (sections 3.2 and
#: 4.1), as in the scenarios of this folder.
PAPER: Final = Setup()
#: A packet may use every slot that starts after its arrival.
IMMEDIATE: Final = Setup("immediate", ("network.sat.return.dama.access=immediate",))
#: I-PEP agents (section 4.4): SCPS-TP with selective negative acknowledgments (SNACK) and
#: timestamps, which take 12 bytes of every packet. Congestion control and initial window are those
#: of the test, and acknowledgments are not delayed, as equation 2 assumes.
I_PEP: Final = Setup("i-pep", (), ("transport.profile=scps", "transport.segment_size=1448"))
