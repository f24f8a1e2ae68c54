#!/usr/bin/env python3
"""Measures the CPU time of setting up scenarios of two sizes.

    .venv/bin/python benchmarks/setup.py [--small N] [--large N]

The measured steps are loading the scenario, building the network, and computing facts and
predictions. Each scenario is set up in a separate process. The start of Python is not counted. The
exponent of growth is log(large CPU time / small CPU time) / log(large size / small size). An
exponent of 1 is linear growth. Exit status: 1 if an exponent is above 1.15.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Maximum exponent of growth. Linear growth is 1; the rest is a margin for noise, caches and
#: sorting.
MAX_EXPONENT = 1.15

#: A program that prints the CPU time of each step in seconds, and the peak resident set in MB.
PROBE = """
import json, resource, sys
from bentpipe import load, predict_scenario
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
times, begin = {}, cpu()
def step(name, call):
    global begin
    found = call()
    times[name] = cpu() - begin
    begin = cpu()
    return found
scenario = step("resolve", lambda: load(sys.argv[1]))
step("build", lambda: scenario.stages)
step("facts", lambda: scenario.facts)
step("predict", lambda: predict_scenario(scenario))
times["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
print(json.dumps(times))
"""


def hub(terminals: int) -> str:
    """Returns the scenario examples/hub.toml with this many terminals. It has a carrier per 17
    terminals, and every second terminal has a call."""
    text = (ROOT / "examples/hub.toml").read_text(encoding="utf-8")
    for old, new in {
        "count = 100\n": f"count = {terminals // 2}\n",
        "count = 12 }": f"count = {max(12, terminals * 6 // 100)} }}",
        "count = 200 }": f"count = {terminals} }}",
        "60 Mbit/s": f"{terminals * 3 // 10} Mbit/s",
    }.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def flows(count: int) -> str:
    """Returns a scenario with `count` flows over one link, each loading a web page."""
    return f"""\
name = "flows"
duration = "10 s"
[[link]]
name = "l"
from = "a"
to = "b"
rate = "1 Gbit/s"
delay = "10 ms"
[[flow]]
name = "web"
from = "a"
to = "b"
count = {count}
app = {{ kind = "http", object = "12 kB", pages = 1 }}
transport = {{ kind = "tcp", congestion = "cubic" }}
"""


def chain(links: int) -> str:
    """Returns a scenario with one flow over `links` links in series."""
    link = '[[link]]\nname = "l{0}"\nfrom = "n{0}"\nto = "n{1}"\nrate = "1 Gbit/s"\ndelay = "1 us"\n'
    rows = "".join(link.format(number, number + 1) for number in range(links))
    app = 'app = { kind = "cbr", rate = "100 kbit/s" }\ntransport = "udp"\n'
    return (
        f'name = "chain"\nduration = "1 s"\n{rows}[[flow]]\nname = "f"\nfrom = "n0"\nto = "n{links}"\n{app}'
    )


#: Kinds of scenarios by name: the function that returns the scenario, and a factor on the size.
KINDS = {"hub": (hub, 1), "flows": (flows, 1), "chain": (chain, 4)}


def measured(text: str) -> dict[str, float]:
    """Runs the probe on a scenario. Returns the CPU time of each step in seconds, and the memory
    (`MB`)."""
    file = ROOT / "target" / "setup.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", PROBE, file], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> int:
    """Measures all kinds at both sizes and prints a row per step. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=1000, metavar="N", help="smaller size (1000)")
    parser.add_argument("--large", type=int, default=10_000, metavar="N", help="larger size (10 000)")
    sizes = parser.parse_args()
    worst = 0.0
    print(f"{'scenario':<10}{'step':<10}{'small s':>9}{'large s':>9}{'exponent':>10}")
    for name, (make, factor) in KINDS.items():
        small, large = (measured(make(factor * size)) for size in (sizes.small, sizes.large))
        total = [sum(value for step, value in steps.items() if step != "MB") for steps in (small, large)]
        exponent = math.log(total[1] / total[0]) / math.log(sizes.large / sizes.small)
        for step in (step for step in small if step != "MB"):
            print(f"{name:<10}{step:<10}{small[step]:>9.3f}{large[step]:>9.3f}")
        print(
            f"{name:<10}{'all':<10}{total[0]:>9.3f}{total[1]:>9.3f}{exponent:>10.2f}   {large['MB']:.0f} MB"
        )
        worst = max(worst, exponent)
    return 1 if worst > MAX_EXPONENT else 0


if __name__ == "__main__":
    sys.exit(main())
