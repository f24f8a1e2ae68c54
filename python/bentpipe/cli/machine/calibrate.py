"""``bentpipe machine calibrate``: measures the speed and accuracy of emulation on this machine."""

from __future__ import annotations

from typing import Any

import typer

from ..common import Json


def calibrate(json: Json = False) -> None:
    """Measure how fast and how accurate emulation is on this machine.

    This takes about ten seconds. Other load on the machine affects the result.
    """
    import json as codec

    from bentpipe import _native

    from ..output import print_json, print_note

    calibration = codec.loads(_native.calibrate())
    if json:
        print_json(calibration)
        return
    for name, text in facts(calibration):
        typer.echo(f"{name:<29}{text}")
    for refused in calibration["refused"]:
        print_note(f"not valid at {_rate(refused['rate'])}: {'; '.join(refused['reasons'])}")


def facts(calibration: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns the measurements as pairs of a name and a text."""
    lateness, added = calibration["lateness"], calibration["added_delay"]
    engine = calibration["engine"]
    valid = calibration["valid_rate"]
    return [
        ("packets of 64 bytes", f"{calibration['small_packets_per_s']:,.0f} per second"),
        ("packets of 1500 bytes", f"{calibration['full_packets_per_s']:,.0f} per second"),
        ("lateness at 10 000 packets/s", _distribution(lateness)),
        ("delay added to a path", _distribution(added)),
        ("highest rate of a valid run", "no tested rate was valid" if valid is None else _rate(valid)),
        ("engine", f"{engine['scheduling']}, clock {engine['clock_source'] or 'unknown'}"),
        ("processors", f"{engine['processors']}, stolen {100 * engine['steal']:.1f} % of the time"),
    ]


def _distribution(times: dict[str, float]) -> str:
    p50, p99, most = (1e6 * times[key] for key in ("p50_s", "p99_s", "max_s"))
    return f"median {p50:.0f} us, p99 {p99:.0f} us, maximum {most:.0f} us"


def _rate(bits_per_second: float) -> str:
    return f"{bits_per_second / 1e6:g} Mbit/s"
