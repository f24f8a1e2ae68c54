"""Measurements recover known parameters of random emulated paths, with clocks that are apart and
skewed.

The quick test covers three paths. With `-m slow`, it covers thirty, ten of them over DVB-RCS, two
by each scheme of capacity; the success rate must match docs/measure/accuracy.md.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bentpipe.quantities import base_value
from bentpipe.results.runs import open_run
from helpers.measuring import LINK, measure_path, path
from rigs.networks import Bentpipe, clear, networks

#: Number of concurrently measured paths. Each takes a tenth of a processor.
AT_A_TIME = 3

#: Minimum and maximum of the one-way delay in ms and of the rate in Mbit/s.
KINDS = {"geo": ((245, 280), (2, 20)), "leo": ((12, 60), (5, 25)), "terrestrial": ((2, 25), (5, 25))}

#: Queues, and the policy that each report must give. Active queue management has no depth.
QUEUES = {"drop-tail": "drop-tail", "drop-front": "drop-front", "codel": "aqm", "fq-codel": "fair-queuing"}

#: A check that returns the parameters of a path that a report contains.
Judge = Callable[[dict[str, Any]], dict[str, bool]]

#: Seconds between two handovers. Each makes the path shorter or longer by some milliseconds.
SLOT_S = 8

SIDE = """rate = "{rate} Mbit/s"
delay = "{delay} ms"
queue = {{ kind = "{queue}"{room} }}
error = {{ kind = "packet", probability = {loss} }}
"""
HANDOVERS = 'trace = {{ samples = {{ file = "levels.csv" }}, repeat = "{repeat} s" }}\n'

#: For each direction a burst, and datagrams above its rate.
LOADS = """
[[load]]
kind = "burst"
direction = "{direction}"
packets = {packets}
pause = "{pause} s"
[[load]]
kind = "udp"
direction = "{direction}"
rate = "{rate:.3f} Mbit/s"
duration = "2.5 s"
pause = "{pause} s"
"""
PROBES = """
duration = "{duration} s"
rate = {rate}
train = 0
"""

#: Schemes by the names of a measurement: the scheme of requests, and true for an additional
#: constant rate.
SCHEMES = {
    "CRA": ("cra", True),
    "RBDC": ("rbdc", False),
    "CRA + RBDC": ("rbdc", True),
    "VBDC": ("vbdc", False),
    "CRA + VBDC": ("vbdc", True),
}
#: Slots of 64 kbit/s: their length in ms, times 8, is their number of bytes.
DVB_RCS = """
name = "path"
duration = "1 h"
[network.sat]
kind = "dvb-rcs"
propagation = "{delay} ms"
terminals = ["user"]
gateway = "server"
[network.sat.forward]
rate = "{rate} Mbit/s"
queue = {{ kind = "{queue}"{room} }}
error = {{ kind = "packet", probability = {loss} }}
[network.sat.return]
rate = "2048 kbit/s"
slots_per_frame = 32
frame = "{frame} ms"
frames_per_superframe = {frames}
error = {{ kind = "packet", probability = {return_loss} }}
[network.sat.return.dama]
scheme = "{scheme}"
response = {response}
cra = "{cra} bit/s"
"""
#: 17 pairs of impulses. Each is larger than the data that a constant rate of 64 kbit/s sends until
#: a request is answered.
IMPULSES = """
[[load]]
kind = "impulses"
duration = "64 s"
every = "3.6 s"
packets = 40
size = "600 B"
"""


def drawn(source: np.random.Generator) -> tuple[str, list[dict[str, Any]]]:
    """Returns the kind of a random path, and its two directions."""
    kind = str(source.choice(list(KINDS)))
    delays, rates = KINDS[kind]
    # Rain and interference affect both directions equally or not; each direction has its own queue.
    sides: list[dict[str, Any]] = [
        {
            "delay": round(float(source.uniform(*delays)), 3),
            "rate": round(float(source.uniform(*rates)), 3),
            "queue": str(source.choice(list(QUEUES), p=[0.35, 0.35, 0.15, 0.15])),
            "bytes": int(source.integers(40_000, 180_000)),
            "loss": float(source.choice([0.0, 0.01, 0.03])),
        }
        for _ in range(2)
    ]
    sides[1]["delay"] = sides[0]["delay"]
    # The satellite changes: at each handover, the delay of both directions changes.
    step = round(float(source.uniform(3, 15)), 3) if kind == "leo" else 0.0
    for side in sides:
        side["step"] = step
    return kind, sides


def drawn_access(source: np.random.Generator, name: str) -> dict[str, Any]:
    """Returns a random DVB-RCS network with a capacity scheme, for :data:`DVB_RCS`."""
    scheme, has_constant = SCHEMES[name]
    frames = int(source.integers(1, 5))
    # Slots have a whole number of bytes.
    frame = round(8 * float(source.uniform(47, 110)) / frames) / 8
    (delays, rates), queues = KINDS["geo"], [name for name in QUEUES if has_depth(name)]
    return {
        "name": name,
        "scheme": scheme,
        "frame": frame,
        "frames": frames,
        # A request and its plan travel for twice the propagation.
        "response": int(-(-560 // (frame * frames)) + source.integers(1, 5)),
        "cra": 0 if not has_constant else 320_000 if scheme == "cra" else 64_000,
        "delay": round(float(source.uniform(*delays)), 3),
        "rate": round(float(source.uniform(*rates)), 3),
        "queue": str(source.choice(queues)),
        "bytes": int(source.integers(40_000, 180_000)),
        "loss": float(source.choice([0.0, 0.01, 0.03])),
        "return_loss": float(source.choice([0.0, 0.01, 0.03])),
    }


def has_depth(queue: str) -> bool:
    """Returns true if a queue has a depth in bytes."""
    return queue.startswith("drop")


def room_of(side: dict[str, Any]) -> str:
    """Returns the keys of a queue in a scenario besides its kind."""
    return f', bytes = "{side["bytes"]} B"' if has_depth(side["queue"]) else ""


def text_of(side: dict[str, Any]) -> str:
    """Returns one direction as text of a scenario."""
    text = SIDE.format(**side, room=room_of(side))
    return text + (HANDOVERS.format(repeat=2 * SLOT_S) if side["step"] else "")


def of_direction(document: dict[str, Any], direction: str) -> dict[str, Any]:
    """Returns the report of a direction, by its name in loads."""
    name = {"up": "forward", "down": "backward"}[direction]
    (row,) = (one for one in document["directions"] if one["direction"] == name)
    return dict(row)


def checks(document: dict[str, Any], run: Path, direction: str, side: dict[str, Any]) -> dict[str, bool]:
    """Returns the parameters of a link direction whose report contains the true value."""
    import polars as pl
    from bentpipe.measure.queueing import POLICIES

    found, row = {}, of_direction(document, direction)
    delay, rate = 1e-3 * float(side["delay"]), 1e6 * float(side["rate"])
    # The smallest packet of 140 B, and 2 ms that a busy machine may add.
    least = delay + 8 * 140 / rate
    found["least delay"] = row["delay_least_low"] <= least <= row["delay_least_high"] + 2e-3
    error = row["variation_error"]
    # At rest, half of the probes take the time of 1260 more bytes to be sent.
    truth = 8 * 1260 / rate + 1e-3 * float(side.get("step", 0.0))
    # If probes arrive together, as with capacity on demand, a reply waits for at most one before
    # it.
    behind = 8 * 1400 / rate if side.get("together") else 0.0
    found["variation"] = -error - 1e-3 <= row["variation_p95"] - truth <= error + 1e-3 + behind
    found["loss"] = row["loss_low"] <= float(side["loss"]) <= row["loss_high"]
    found["width"] = error <= 1e-3 + 0.01 * 2 * delay
    table = pl.read_parquet(run / "tables" / "bottleneck.parquet")
    rows = table.filter(pl.col("direction") == direction).to_dicts()
    policies = {row["policy"] for row in rows}
    policy = next((one for one in POLICIES if one in policies), None)
    # The rate and the queue of the run's scenario.
    link = open_run(run).scenario["link"][0]
    link = link if direction == "up" else link["return"]
    found["rate"] = abs(base_value(link["rate"]) / rate - 1) <= 0.03
    if has_depth(side["queue"]):
        depth = base_value(link["queue"].get("bytes", "0 B"))
        found["depth"] = abs(depth / float(side["bytes"]) - 1) <= 0.1
        found["bounds of depth"] = all(
            row["depth_least"] <= float(side["bytes"]) <= (row["depth_most"] or np.inf) for row in rows
        )
    found["policy"] = policy == QUEUES[side["queue"]]
    return {f"{what} {direction}": good for what, good in found.items()}


def access_checks(document: dict[str, Any], run: Path, truth: dict[str, Any]) -> dict[str, bool]:
    """Returns the parameters of a return link on demand whose report contains the true value."""
    row = of_direction(document, "up")
    delay, superframe = 1e-3 * float(truth["delay"]), 1e-3 * truth["frame"] * truth["frames"]
    # The last bit of the smallest probe at the rate of all slots; by request only, it waits for the
    # response and for the superframe that follows it.
    least = delay + 8 * 140 / 2_048_000
    most = delay + superframe * (1 if truth["cra"] else truth["response"] + 2)
    found = {"least delay up": least <= row["delay_least_high"] + 2e-3 and row["delay_least_low"] <= most}
    found["loss up"] = row["loss_low"] <= truth["return_loss"] <= row["loss_high"]
    found["width up"] = row["variation_error"] <= 1e-3 + 0.01 * 2 * delay
    (told,) = open_run(run).table("scheduler").to_dicts()
    print(told)
    found["scheme up"] = told["scheme"] == truth["name"]
    if truth["scheme"] != "cra":
        seen = told["superframe"]
        found["superframe up"] = seen is not None and abs(seen / superframe - 1) <= 0.01
    return found


def loads_of(sides: dict[str, dict[str, Any]]) -> str:
    """Returns the loads that fill the queues of link directions."""
    # The burst is twice what the largest queue holds; it has passed when the next one begins.
    most = max(int(side["bytes"]) for side in sides.values())
    pause = 1 + max(8 * most / (1e6 * float(side["rate"])) for side in sides.values())
    values = {"packets": 2 * most // 1400 + 100, "pause": round(pause, 1)}
    return "".join(
        LOADS.format(direction=direction, rate=1.3 * side["rate"], **values)
        for direction, side in sides.items()
    )


def over_links(source: np.random.Generator, folder: Path) -> tuple[str, str, str, Judge]:
    """Draws a path of links. Returns its text, its scenario, the plan that measures it, and its
    judge."""
    kind, (up, down) = drawn(source)
    near, far = (1e-3 * (up["delay"] + more) for more in (0, up["step"]))
    (folder / "levels.csv").write_text(f"time,delay\n0,{near}\n{SLOT_S},{far}\n")
    text = f"{LINK}{text_of(up)}[link.return]\n{text_of(down)}"
    plan = PROBES.format(duration=7, rate=60) + loads_of({"up": up, "down": down})

    def judge(document: dict[str, Any]) -> dict[str, bool]:
        run = folder / "run"
        return checks(document, run, "up", up) | checks(document, run, "down", down)

    return f"{kind} {up} {down}", text, plan, judge


def over_dvb_rcs(source: np.random.Generator, folder: Path, name: str) -> tuple[str, str, str, Judge]:
    """Draws a path over DVB-RCS with a capacity scheme; see :func:`over_links`."""
    truth = drawn_access(source, name)
    text = DVB_RCS.format(**truth, room=room_of(truth))
    # Probes are few, because they request capacity as well.
    plan = PROBES.format(duration=7, rate=2) + IMPULSES + loads_of({"down": truth})

    def judge(document: dict[str, Any]) -> dict[str, bool]:
        run = folder / "run"
        return access_checks(document, run, truth) | checks(document, run, "down", truth | {"together": True})

    return f"dvb-rcs {truth}", text, plan, judge


def recover(
    bentpipe: Bentpipe,
    folder: Path,
    count: int,
    seed: int,
    schemes: Sequence[str] = (),
    most_wrong: int | None = None,
) -> dict[str, list[bool]]:
    """Returns the outcomes of the cases for each parameter. Several paths are measured at a time.
    The first ones lead over DVB-RCS, one by each of `schemes`. Fails when more than `most_wrong`
    cases of one parameter are wrong, because the rest cannot compensate for them."""
    source, right = np.random.default_rng(seed), dict[str, list[bool]]()

    def drawn_path(number: int) -> tuple[Path, tuple[str, str, str, Judge], int, int]:
        own = folder / str(number)
        own.mkdir()
        is_access = number < len(schemes)
        one = over_dvb_rcs(source, own, schemes[number]) if is_access else over_links(source, own)
        ahead = int(source.uniform(-5e9, 5e9))
        return own, one, ahead, int(source.choice([-1, 1]) * source.integers(1, 101))

    def recovered(own: Path, one: tuple[str, str, str, Judge], ahead: int, skew: int) -> dict[str, bool]:
        said, text, plan, judge = one
        command = replace(bentpipe, state=own / "state")
        try:
            with path(command, own, text, ahead, skew):
                document = json.loads(measure_path(command, own, plan, "--json"))
        finally:
            clear(command)
        found = judge(document)
        shutil.rmtree(own / "run")
        wrong = [name for name, good in found.items() if not good]
        if any(name.startswith(("loss", "variation", "width", "least")) for name in wrong):
            print(document["directions"])
        print(
            f"{own.name} {said} {ahead / 1e9:.1f} s {skew} ppm: {', '.join(wrong) or 'all right'}", flush=True
        )
        return found

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        futures = [pool.submit(recovered, *drawn_path(number)) for number in range(count)]
        for future in futures:
            for name, good in future.result().items():
                what = name.rsplit(" ", 1)[0]
                right.setdefault(what, []).append(good)
                if most_wrong is not None and right[what].count(False) > most_wrong:
                    pool.shutdown(cancel_futures=True)
                    pytest.fail(f"{what}: {right[what].count(False)} of {len(right[what])} wrong")
    print({name: f"{sum(cases)} of {len(cases)}" for name, cases in right.items()})
    return right


@pytest.mark.quiet
@networks
def test_three_paths(bentpipe: Bentpipe, tmp_path: Path) -> None:
    right = recover(bentpipe, tmp_path, 3, seed=1)
    # Two directions each; an interval of 95 % may miss one of six.
    assert all(sum(cases) >= len(cases) - 1 for cases in right.values()), right


@pytest.mark.slow
@pytest.mark.alone
@networks
def test_thirty_paths(bentpipe: Bentpipe, tmp_path: Path) -> None:
    right = recover(bentpipe, tmp_path, 30, seed=24, schemes=2 * list(SCHEMES), most_wrong=6)
    share = {name: sum(cases) / len(cases) for name, cases in right.items()}
    assert all(share[name] >= 0.95 for name in ("least delay", "width", "rate", "depth", "loss")), share
    assert share["policy"] >= 0.9, share
    # Superframes are reported for all schemes with requests.
    assert share["superframe"] == 1 and share["scheme"] >= 0.9, share
