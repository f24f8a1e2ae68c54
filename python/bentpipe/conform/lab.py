"""The laboratory of the cases: a path between a sender and a receiver, and one flow over it."""

from __future__ import annotations

import shutil
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any, Final

from .observation import Observation, of_trace
from .path import PAYLOAD, Path

#: The template of all scenarios.
_TEMPLATE: Final = File(__file__).with_name("path.toml")

#: Runs the scenario of a path in a folder, and returns what is visible on the path.
Runner = Callable[[Mapping[str, Any], File, Path], Observation]


def change(at: float, **values: Any) -> dict[str, Any]:
    """Returns a change of the path's keys at a time in s, for :meth:`Lab.run`."""
    return {"at": _seconds(at), "set": {"link": {"path": values}}}


def writing(packets: float, every: float) -> dict[str, Any]:
    """Returns an application that writes so many packets at 1 Gbit/s at the start of the flow, and
    again each ``every`` s."""
    on = packets * 8 * PAYLOAD / 1e9
    return {
        "kind": "cbr",
        "rate": "1 Gbit/s",
        "datagram": f"{PAYLOAD} B",
        "on": _seconds(on),
        "off": _seconds(every - on),
    }


def _seconds(span: float) -> str:
    return f"{round(span * 1e9)} ns"


def _bits(rate: float) -> str:
    return f"{round(rate)} bit/s"


@dataclass(frozen=True)
class Lab:
    """Runs the scenarios of cases with a congestion control: its name, or the table ``{"file":
    PATH}`` of C source."""

    control: str | dict[str, str]
    runner: Runner

    def run(
        self,
        path: Path,
        duration: float,
        *,
        app: Mapping[str, Any] | None = None,
        link: Mapping[str, Any] | None = None,
        back: Mapping[str, Any] | None = None,
        transport: Mapping[str, Any] | None = None,
        changes: Sequence[Mapping[str, Any]] = (),
        shorter: float | None = None,
    ) -> Observation:
        """Runs a flow over a path and returns what is visible on it.

        ``app`` replaces the bulk transfer; ``link``, ``back`` and ``transport`` add keys to the
        path, its return direction and the transport. Runs with equal arguments are identical, so a
        first run can find the time of a phase for a change in a second one. At the time ``shorter``
        in s, the path becomes shorter by the time of a packet, so that the smallest round-trip
        time is fresh.
        """
        scenario = tomllib.loads(_TEMPLATE.read_text(encoding="utf-8"))
        (wire,), (flow,) = scenario["link"], scenario["flow"]
        queue = path.queue or max(round(4 * path.bdp), 10)
        scenario["duration"] = _seconds(duration)
        wire["rate"] = _bits(path.rate)
        wire["delay"] = wire["return"]["delay"] = _seconds(path.rtt / 2)
        wire["queue"]["packets"] = queue
        wire.update(link or {})
        wire["return"].update(back or {})
        flow["app"] = dict(app) if app else flow["app"]
        flow["transport"].update(transport or {})
        flow["transport"]["congestion"] = self.control
        # Shorter by less than the time between packets, so that their order is kept, and so that
        # the round-trip time is below that of the handshake.
        nearer = _seconds(path.rtt / 2 - 0.98 / path.packets_per_s)
        refresh = [] if shorter is None else [change(shorter, delay=nearer)]
        if refresh or changes:
            scenario["change"] = [*refresh, *changes]
        folder = File(tempfile.mkdtemp(prefix="bentpipe-conform-"))
        try:
            return self.runner(scenario, folder, path)
        finally:
            # A failed run has removed the folder.
            shutil.rmtree(folder, ignore_errors=True)


def simulated(scenario: Mapping[str, Any], folder: File, path: Path) -> Observation:
    """Runs a scenario in the engine."""
    from bentpipe.simulation import simulate

    return of_trace(simulate(scenario, out=folder), path)


def emulated(scenario: Mapping[str, Any], folder: File, path: Path) -> Observation:
    """Runs a scenario with the TCP of a Linux kernel in virtual time."""
    from bentpipe.emulation import emulate

    return of_trace(emulate(scenario, out=folder, clock="kernel"), path)
