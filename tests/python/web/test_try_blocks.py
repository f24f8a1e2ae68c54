"""A wrong description of an interactive figure is an error with its line. Needs no built script."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT
from manual import blocks, tries
from rigs import sites

PAGE = ROOT / "docs" / "gallery" / "queue-length.md"
SWEEP = ROOT / "docs" / "gallery" / "random-loss.md"
PACKETS = ROOT / "docs" / "gallery" / "initial-window.md"

CONF = f"""import sys
sys.path.insert(0, {str(ROOT / "scripts")!r})
extensions = ["myst_nb", "manual.extension"]
"""


def changed(page: Path, found: str, wrong: str) -> tuple[str, blocks.Block]:
    """The text of a page with a changed block, and the block."""
    head, fence, block = page.read_text().partition("<!-- try: ")
    assert found in block
    text = head + fence + block.replace(found, wrong)
    return text, next(one for one in blocks.read(text) if one.title)


#: What a build of the site finds: errors that need neither the engine nor results.
PARSED = [
    ('to = "2000 kB"', 'to = "2000 kBB"', "[control.queue]", "one unit"),
    (
        'from = "20 kB"\nto = "2000 kB"',
        'from = "20 kBB"\nto = "2000 kBB"',
        "[control.queue]",
        "'kBB' is no unit",
    ),
    ("goodput in Mbit/s}", "goodput in Mbits}", "say = ", "'Mbits' is no unit"),
    ('unit = "Mbit/s"', 'unit = "Mbits"', "unit = ", "'Mbits' is no unit"),
    ("{flows.upload.goodput in Mbit/s}", "{flow.upload.goodput in Mbit/s}", "say = ", "no table flow"),
    ("{flows.upload.goodput in Mbit/s}", "{max(tcp.upload.rtt) in s}", "say = ", "is no expression"),
    ("{flows.upload.goodput in Mbit/s}", "{flows.upload.goodput / queues}", "say = ", "no slider queues"),
    (
        "{flows.upload.goodput in Mbit/s}",
        "{flows.upload.goodput * congestion}",
        "say = ",
        "no slider congestion",
    ),
    ("{flows.upload.goodput in Mbit/s}", "{queues}", "say = ", "no control queues"),
    ("{flows.upload.goodput in Mbit/s}", "{flows.upload.goodput in Mbit/s", "say = ", "a brace"),
    ("[control.queue]", "[control.each]", "[control.each]", "reserved"),
    ("bin = 2", "bin = 2\nper = 0", "per = ", "positive number"),
    ("bin = 2", "bin = 2\nstyle = 'bold'", "style = ", "line, steps or dots"),
    ("[[figure]]", "[[figures]]", "[[figures]]", "unknown key figures"),
    ('scenario = "upload.toml"', 'scenario = "uploads.toml"', "scenario = ", "not defined above"),
]

#: The same for a figure of packets.
PARSED_PACKETS = [
    ('nodes = ["server", "user"]', 'nodes = ["server"]', "packets = ", "at least two nodes"),
    ('packets = "file"', 'packets = "file"\nunit = "s"', "unit = ", "unknown key unit"),
    ('packets = "file"', 'trace = "tcp.rtt"', "nodes = ", "unknown key nodes"),
    ("[[figure]]\npackets", "[each]\nchoices = []\n[[figure]]\npackets", "[each]", "a single run"),
]

#: What only the test of the page finds, which loads and runs the scenario.
RUN = [
    ('key = "link.sat.return.queue.bytes"', 'key = "link.sat.return.queue.byte"', "key = ", "unknown key"),
    ('BBR = "bbr"', 'BBR = "brr"', "key = ", "allowed"),
    ('trace = "tcp.rtt"', 'trace = "tcp.rrt"', "trace = ", "no column rrt"),
    ('trace = "tcp.rtt"', 'trace = "tpc.rtt"', "trace = ", "no trace tpc"),
    (
        "{flows.upload.goodput in Mbit/s}",
        "{flows.download.goodput in Mbit/s}",
        "say = ",
        "no row download",
    ),
    ("{flows.upload.goodput in Mbit/s}", "{mean(tcp.download.rtt) in s}", "say = ", "no row download"),
    ("bin = 2", "mean = 2", "[[figure]]", "need all of"),
]

RUN_PACKETS = [
    ('packets = "file"', 'packets = "files"', "packets = ", "no flow files"),
    ('nodes = ["server", "user"]', 'nodes = ["server", "users"]', "nodes = ", "users"),
]


@pytest.mark.parametrize(
    ("page", "found", "wrong", "line", "message"),
    [(PAGE, *one) for one in PARSED] + [(PACKETS, *one) for one in PARSED_PACKETS],
)
def test_a_wrong_key_is_an_error_with_its_line(
    page: Path, found: str, wrong: str, line: str, message: str
) -> None:
    text, block = changed(page, found, wrong)
    with pytest.raises(tries.TryError, match=re.escape(message)) as refused:
        tries.page_spec(block.text, tries.scenarios(text))
    assert line in block.text.splitlines()[refused.value.line(block.text) - 1]


def test_the_site_names_the_line_of_a_wrong_key(tmp_path: Path) -> None:
    """A build of the site does not run the scenario, so it finds only the first of two errors."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "conf.py").write_text(CONF)
    text, _ = changed(PAGE, 'trace = "tcp.rtt"', 'trace = "tcp.rrt"')
    text = re.sub(r"!\[[^]]*\]\([^)]*\)\n", "", text.replace("goodput in Mbit/s}", "goodput in Mbits}"))
    (source / "index.md").write_text(text)
    command = [sys.executable, "-m", "sphinx", "--quiet", "--builder", "html", "--doctree-dir"]
    built = subprocess.run(
        [*command, str(tmp_path / "doctrees"), str(source), str(tmp_path / "site")],
        capture_output=True,
        text=True,
        check=False,
    )
    places = re.findall(r"index\.md:(\d+): ERROR: the interactive figure is wrong: (.*)", built.stderr)
    assert len(places) == 1, built.stderr
    assert "'Mbits' is no unit" in places[0][1]
    assert "say = " in text.splitlines()[int(places[0][0]) - 1]


@pytest.mark.parametrize(
    ("page", "found", "wrong", "line", "message"),
    [(PAGE, *one) for one in RUN] + [(PACKETS, *one) for one in RUN_PACKETS],
)
def test_a_wrong_name_is_an_error_of_the_test_of_the_page(
    page: Path, found: str, wrong: str, line: str, message: str, tmp_path: Path
) -> None:
    text, block = changed(page, found, wrong)
    for name, scenario in tries.scenarios(text).items():
        (tmp_path / name).write_text(scenario)
    session = blocks.Session(tmp_path, tmp_path)
    with pytest.raises(AssertionError, match=re.escape(message)) as failed:
        session.run(block)
    number = re.match(r"line (\d+) of the block", str(failed.value))
    assert number is not None
    assert line in block.text.splitlines()[int(number[1]) - 1]


def test_positions_of_a_slider_and_a_sweep() -> None:
    """Labels have the unit of the page, and numbers and overrides the unit of the key."""
    (spec,) = sites.specs(PAGE).values()
    queue, congestion = spec["controls"]
    assert queue["positions"][queue["start"]] == {
        "label": "350 kB",
        "number": 350,
        "overrides": ["link.sat.return.queue.bytes=350 kB"],
    }
    assert congestion["positions"][1] == {
        "label": "CUBIC",
        "number": None,
        "overrides": ["flow.upload.transport.congestion=cubic"],
    }
    (spec,) = sites.specs(SWEEP).values()
    assert spec["sweep"]["label"] == "packets lost (%)"
    assert spec["sweep"]["positions"][1]["label"] == "0.03 %"
    assert spec["sweep"]["positions"][1]["number"] == 0.0003
    assert spec["sweep"]["axis"] == pytest.approx([0.01, 0.03, 0.1, 0.3, 1])
