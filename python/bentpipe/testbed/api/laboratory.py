"""The abilities of the laboratory: its instruments, the limits of the caller's level, and findings
about its machine."""

from __future__ import annotations

from typing import Any, Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel

import bentpipe
from bentpipe.testbed import instruments
from bentpipe.testbed.paths import without_paths
from bentpipe.testbed.rules import INSTRUMENTS, OF_LEVEL

from .callers import AnyCaller, CurrentSettings

router = APIRouter(tags=["laboratory"])

_ABOUT: Final = {
    "simulate": "Simulates the network and its protocols in virtual time. Results are exact and repeatable.",
    "kernel": "Runs the hosts' TCP in a real Linux kernel, in virtual time.",
    "emulate": "Runs real hosts over the emulated network, in real time. One such run uses the whole machine.",
}


class InstrumentAbility(BaseModel):
    """An instrument, and the reason if the caller cannot use it here."""

    name: Literal["simulate", "kernel", "emulate"]
    about: str
    reason: str | None


class Finding(BaseModel):
    """A property of the executor's machine. ``needed`` is true if emulation in real time needs
    it."""

    what: str
    status: Literal["ok", "limited", "missing"]
    needed: bool
    found: str


class Laboratory(BaseModel):
    """The version and the number of concurrent runs, the instruments, the limits of the caller's
    level, and the findings about the machine; without findings before its examination."""

    version: str
    slots: int
    real_time: bool
    instruments: list[InstrumentAbility]
    limits: dict[str, Any]
    findings: list[Finding]


@router.get("/laboratory")
def laboratory(who: AnyCaller, settings: CurrentSettings) -> Laboratory:
    """Returns the abilities of the laboratory, without paths of its machine."""
    limits = OF_LEVEL[who.level]
    machine = instruments.of_machine(settings)
    numbers = ("events", "seconds", "nodes", "queued", "runs", "configurations", "stored", "bytes", "memory")
    found = []
    for name in INSTRUMENTS:
        reason = machine.get(name)
        if name not in limits.instruments:
            reason = f'your level "{who.level}" cannot launch runs'
        found.append(
            InstrumentAbility.model_validate(
                {
                    "name": name,
                    "about": _ABOUT[name],
                    "reason": None if reason is None else without_paths(reason, settings.data),
                }
            )
        )
    return Laboratory(
        version=bentpipe.__version__,
        slots=settings.slots,
        real_time=settings.real_time,
        instruments=found,
        limits={name: getattr(limits, name) for name in numbers},
        findings=[Finding.model_validate(one) for one in instruments.checks_of_machine(settings)],
    )
