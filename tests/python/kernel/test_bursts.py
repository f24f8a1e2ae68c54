"""The bursts that Linux sends, and the effect of segmentation offload on goodput: simulated, and in
virtual time."""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe.results.captures import segments
from parity import pieces
from rigs.guests import guests, run_in_guest

pytestmark = [
    guests,
    pytest.mark.skipif("BENTPIPE_LONG" not in os.environ, reason="takes minutes: make test-kernel"),
]

INSIDE = Path(__file__).with_name("offload_inside.py")

#: Largest gap between segments of one burst, in seconds.
TOGETHER = 150e-6

#: Congestion control, rate in Mbit/s, delay in ms, queue in packets.
CASES = (("reno", 4, 250, 166), ("vegas", 4, 250, 166), ("cubic", 50, 20, 200), ("bbr", 50, 20, 200))


def scenario(congestion: str, rate: int, delay: int, packets: int) -> dict[str, object]:
    link = pieces.PAIR.replace("5 Mbit/s", f"{rate} Mbit/s").replace("10 ms", f"{delay} ms")
    queue = f'queue = {{ kind = "drop-tail", packets = {packets} }}\n'
    flow = pieces.flow("f", "a", "b", transport=f'{{ kind = "tcp", congestion = "{congestion}" }}')
    record = '[record]\ntraces = []\ncapture = ["a"]\n'
    return tomllib.loads(f'name = "bursts"\nduration = "15 s"\n{record}{link}{queue}{flow}')


def bursts(folder: Path) -> dict[int, float]:
    """Returns the share of bursts by their number of segments."""
    sizes: Counter[int] = Counter()
    size, last = 0, 0.0
    for segment in segments(folder / "packets.pcapng"):
        if segment.payload == 0:
            continue
        if size and segment.time_s - last > TOGETHER:
            sizes[size] += 1
            size = 0
        size, last = size + 1, segment.time_s
    return {size: count / sizes.total() for size, count in sizes.items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_bursts_are_those_of_linux(case: tuple[str, int, int, int], tmp_path: Path) -> None:
    bp.simulate(scenario(*case), out=tmp_path / "simulated")
    bp.emulate(scenario(*case), out=tmp_path / "kernel", clock="kernel")
    ours, theirs = bursts(tmp_path / "simulated"), bursts(tmp_path / "kernel")
    apart = sum(abs(ours.get(size, 0) - theirs.get(size, 0)) for size in ours | theirs) / 2
    assert apart < 0.1, (ours, theirs)


def test_bbr_loses_large_packets_as_linux_does(tmp_path: Path) -> None:
    """A path with 50 Mbit/s, and 10 ms and 1 % in each direction, on which a ProbeRTT lasts ten
    round trips."""
    arguments = ("bbr", 10, "50mbit", 1, 60, 0)
    output = run_in_guest(INSIDE, *arguments)
    said = re.search(r"received (\d+)", output)
    assert said, output
    way = 'delay = "10 ms"\nrate = "49537648 bit/s"\nerror = { kind = "packet", probability = 0.01 }\n'
    link = f'[[link]]\nname = "l"\nfrom = "a"\nto = "b"\n{way}[link.return]\n{way}'
    tcp = '{ kind = "tcp", congestion = "bbr", segment_size = 1448, segmentation_offload = true }'
    text = f'name = "loss"\nduration = "60 s"\n[record]\ntraces = []\n{link}{pieces.flow("f", "a", "b", transport=tcp)}'
    simulated = bp.simulate(tomllib.loads(text), out=tmp_path / "simulated").flows["goodput"][0]
    assert simulated == pytest.approx(int(said[1]) * 8 / 60, rel=0.01)
