"""Names in results are looked up, never parsed: reasons of failed connections, and services from
outside."""

from __future__ import annotations

from pathlib import Path

import bentpipe
from bentpipe.results.flows import connection_failures

DEAD = """
name = "dead"
duration = "200 s"

[[link]]
name = "broken"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "10 ms"
error = { kind = "packet", probability = 1.0 }

[[link]]
name = "whole"
from = "b"
to = "c"
rate = "1 Mbit/s"
delay = "10 ms"

[[flow]]
name = "first"
from = "b"
to = "c"
app = { kind = "bulk", size = "10 kB" }
transport = "tcp"

[[flow]]
name = "second.source"
from = "a"
to = "b"
app = "bulk"
transport = "tcp"
"""

CONFERENCE = """
name = "conference"
duration = "2 s"
link = [
  { name = "one", from = "anna", to = "bridge", rate = "1 Mbit/s", delay = "10 ms" },
  { name = "two", from = "ben", to = "bridge", rate = "1 Mbit/s", delay = "20 ms" },
]

[[flow]]
name = "anna"
from = "anna"
to = "bridge"
app = { kind = "cbr", rate = "64 kbit/s" }
transport = "udp"

[[flow]]
name = "ben"
from = "ben"
to = "bridge"
app = { kind = "cbr", rate = "64 kbit/s" }
transport = "udp"

[[service]]
name = "mcu"
node = "bridge"
role = "relay"
"""


def simulated(text: str, folder: Path) -> bentpipe.Run:
    """Returns a run of the scenario ``text``."""
    file = folder / "scenario.toml"
    file.write_text(text, encoding="utf-8")
    return bentpipe.simulate(file, out=folder / "run")


def test_the_flow_whose_connection_failed_is_named_whatever_its_name(tmp_path: Path) -> None:
    run = simulated(DEAD, tmp_path)
    assert connection_failures(run) == {"second.source": "no answer to the handshake"}


def test_a_relay_has_rows_for_both_directions_of_each_participant(tmp_path: Path) -> None:
    run = simulated(CONFERENCE, tmp_path)
    rows = {row["flow"]: row for row in run.flows.iter_rows(named=True)}
    assert set(rows) == {"anna", "ben", "anna.reverse", "ben.reverse"}
    assert (rows["anna.reverse"]["from"], rows["anna.reverse"]["to"]) == ("bridge", "anna")
    assert rows["anna.reverse"]["delivered_packets"] > 0
    # From Ben to Anna: both delays, and two transmissions.
    assert 0.03 < rows["anna.reverse"]["delay_mean"] < 0.05
    assert run.table("relay")["participants"].to_list() == [2]
