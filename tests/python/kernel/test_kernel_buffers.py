"""The receive window of a simulated host compared with that of a Linux kernel in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bentpipe as bp
import pytest
from parity import pieces
from rigs.guests import guests

if TYPE_CHECKING:
    from pathlib import Path


@guests
def test_a_receiver_acknowledges_each_segment_while_its_window_grows(tmp_path: Path) -> None:
    leo = pieces.GEO.replace("250 ms", "20 ms").replace("250 kB", "50 kB")
    transport = '{ kind = "tcp", profile = "linux-6.12", receive_window_start = "64 KiB" }'
    file = tmp_path / "leo.toml"
    file.write_text(
        'name = "leo"\nduration = "6 s"\n' + leo + pieces.flow("f", "user", "server", transport=transport)
    )
    seen = []
    for run in (bp.simulate(file, out=tmp_path / "s"), bp.emulate(file, out=tmp_path / "e", clock="kernel")):
        # A row for each acknowledgment.
        seconds = run.trace("tcp")["time"].cast(float) / 1e9
        seen.append([seconds.is_between(begin, end).sum() for begin, end in ((0, 1), (1, 2), (2, 6))])
        notes = run.provenance["notes"]
        assert not any("receive_window_start" in note for note in notes.get("emulation", [])), notes
    # 333 segments per second: nearly each is acknowledged until 1.25 s, every second one from 1.5 s
    # on.
    assert seen[1][2] < 4 * 333 * 0.6
    for model, kernel in zip(*seen, strict=True):
        assert model == pytest.approx(kernel, rel=0.1), seen
