"""Many runs, as studies need them: simulated two at a time, and not again where nothing has changed since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import _native
from .runs import Run
from .simulation import simulate

#: Told the fraction done of all.
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Job:
    """One run: a scenario with overrides and a seed. ``name`` is that of its folder."""

    name: str
    scenario: Path
    overrides: tuple[str, ...] = ()
    seed: int = 1

    @property
    def key(self) -> str:
        """Differs where the run could come out differently: scenario, overrides, seed, engine."""
        said = [self.scenario.read_text(encoding="utf-8"), *self.overrides, str(self.seed), _engine()]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()


@cache
def _engine() -> str:
    file = _native.__file__
    assert file is not None, "the engine is a file"
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def run_all(jobs: Sequence[Job], out: Path, progress: Progress, threads: int = 2) -> dict[Job, Run]:
    """The runs, in folders of their names below ``out``.

    A run that is complete and whose key, in the file beside it, has not changed is taken as it is: a study that was
    interrupted goes on where it stopped.
    """
    done = dict.fromkeys(jobs, 0.0)
    stopped = False
    out.mkdir(parents=True, exist_ok=True)

    def one(job: Job) -> Run:
        def tell(fraction: float) -> bool:
            done[job] = fraction
            progress(sum(done.values()) / len(done))
            return not stopped

        folder, note = out / job.name, out / f"{job.name}.key"
        if note.is_file() and note.read_text(encoding="utf-8") == job.key:
            run = Run(folder)
            if run.complete:
                tell(1.0)
                return run
        note.unlink(missing_ok=True)
        run = simulate(job.scenario, seed=job.seed, overrides=list(job.overrides), out=folder, progress=tell)
        if run.complete:
            note.write_text(job.key, encoding="utf-8")
        tell(1.0)
        return run

    with ThreadPoolExecutor(max_workers=threads) as pool:
        try:
            return dict(zip(jobs, pool.map(one, jobs), strict=True))
        except BaseException:
            stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise
