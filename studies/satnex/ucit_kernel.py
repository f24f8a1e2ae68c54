"""The test ``ucit-kernel`` of UCIT (TATPA): a Hybla transfer as in figure 17, over a link of
10 Mbit/s with losses, with a Linux kernel in virtual time and with the model of Linux's Hybla."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import numpy as np
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.statistics import mean_of
from bentpipe.studies import Reproduction, Statement, bar, judge

from .ucit import LINUX_HYBLA, TEMPLATES, draw, losses_of, reopening, transfer_table

Clock = Literal["virtual", "kernel"]

#: Overrides for the model: the TCP stack of the guest's kernel, with Linux's Hybla.
MODEL: Final = ("flow.hybla.transport.profile=linux-6.12", f"flow.hybla.transport.parameters={LINUX_HYBLA}")
#: Override for the initial slow-start threshold of kernel and model. Linux's module does not
#: estimate the end of the first slow start, so both have the value of Hoe's estimate, the
#: bandwidth-delay product.
THRESHOLD: Final = ("flow.hybla.transport.initial_ssthresh=500",)
#: Rate of the link of the transfer.
RATE_BIT_S: Final = 10e6
TITLE: Final = "200 s over 10 Mbit/s, 300 ms, packets lost with 1e-4 (medians over losses)"
#: Seeds of the runs.
SEEDS: Final = (1, 2, 3)


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Runs the transfer with the kernel's Hybla and with the model, and judges the results of the
    kernel."""
    jobs: dict[tuple[Clock, int], Job] = {
        (clock, seed): Job(
            f"ucit-{clock}-{seed}",
            TEMPLATES / "hybla.toml",
            (*THRESHOLD, *(MODEL if clock == "virtual" else ())),
            seed,
            clock,
        )
        for clock in ("virtual", "kernel")
        for seed in SEEDS
    }
    with bar("ucit-kernel", shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    kernel, model = ([runs[jobs[clock, seed]] for seed in SEEDS] for clock in ("kernel", "virtual"))
    goodputs = [mean_of([float(run.flows["goodput"][0]) for run in of]).value for of in (kernel, model)]
    ours: dict[str, float | None] = {
        "ucit-kernel-losses": float(min(len(losses_of(run)) for run in kernel)),
        "ucit-kernel-reopening": round(float(np.median([reopening(run) for run in kernel])), 4),
        "ucit-kernel-goodput": round(goodputs[0] / goodputs[1], 4),
    }
    figure = draw(kernel[0])
    named = {
        f"{name}, seed {seed}": run
        for name, of in (("kernel", kernel), ("model", model))
        for seed, run in zip(SEEDS, of, strict=True)
    }
    return Reproduction(
        judge(statements, ours),
        figures={"figure-17-kernel": figure},
        tables=[transfer_table(TITLE, RATE_BIT_S, named)],
    )
