"""Functions that all studies use: verdicts, their summary, and the segments of a capture."""

from __future__ import annotations

from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe import studies
from bentpipe.results.captures import segments

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")

PUBLISHED = """id,test,role,text,relation,value,unit,tolerance,source,deviation,suspected
a,t,,holds,about,10,s,10%,fig. 1,,
b,t,,shown,at least,10,s,0,fig. 1,the queue was bounded,
c,t,,thought,at most,10,s,0,fig. 1,,the hour
d,t,,unknown,at most,10,s,0,fig. 1,,
"""
OTHERS = """e,t,variation,varied,about,10,s,0,fig. 1,,
f,t,by construction,built,about,10,s,0,fig. 1,,
g,t,repeat,repeated,about,10,s,0,fig. 1,,
"""


def test_only_a_confirmed_cause_makes_a_statement_known_to_differ(tmp_path: Path) -> None:
    (tmp_path / "published.csv").write_text(PUBLISHED, encoding="utf-8")
    statements = studies.read_published(tmp_path / "published.csv")
    verdicts = studies.judge(statements, {"a": 10.9, "b": 9, "c": 11, "d": 11})
    assert [one.outcome for one in verdicts] == ["holds", "known to differ", "differs", "differs"]
    assert [one.expected for one in verdicts] == [True, True, True, False]
    assert not studies.Result("t", verdicts).successful
    assert studies.Result("t", verdicts[:3]).successful
    # A missing value is never expected, even if the study has a suspected cause.
    assert not studies.Result("t", studies.judge(statements[2:3], {"c": None})).successful


def test_the_summary_counts_the_recorded_verdicts_on_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "studies" / "one"
    folder.mkdir(parents=True)
    (folder / "study.py").write_text("", encoding="utf-8")
    (folder / "published.csv").write_text(PUBLISHED + OTHERS, encoding="utf-8")
    statements = studies.read_published(folder / "published.csv")
    verdicts = studies.judge(statements, {"a": 10, "b": 9, "c": 11, "e": 10, "f": 10, "g": 11})
    studies.record(folder, [studies.Result("t", verdicts, notes=["one"])])
    monkeypatch.setattr(studies.folders, "folders", lambda: [tmp_path / "studies"])
    table = studies.summary()
    assert table.header == ["study", "claims", *studies.OUTCOMES, "variations", "not counted"]
    counts = ["4", "1", "1", "1", "1", "1", "2"]
    assert table.rows == [["one", *counts], ["all", *counts]]
    assert studies.recorded(folder) == {"t": studies.Result("t", verdicts, notes=["one"])}


def test_the_readme_describes_every_test_with_statements() -> None:
    found = studies.known()
    assert len(found) >= 5
    for folder in found.values():
        described = studies.description(folder)
        assert described.title and described.about
        assert {one.test for one in studies.read_published(folder / "published.csv")} <= set(described.tests)


def test_captured_segments_match_the_flow_table(tmp_path: Path) -> None:
    scenario = {
        "name": "capture",
        "duration": "5 s",
        "record": {"capture": ["a", "b"], "capture_bytes": 60, "traces": []},
        "link": [
            {
                "name": "l",
                "from": "a",
                "to": "b",
                "rate": "1 Mbit/s",
                "delay": "20 ms",
                "error": {"kind": "packet", "probability": 0.05},
            }
        ],
        "flow": [
            {
                "name": "f",
                "from": "a",
                "to": "b",
                "app": "bulk",
                "transport": {"kind": "tcp", "segment_size": 1000},
            }
        ],
    }
    run = bp.simulate(scenario, out=tmp_path / "run")
    row = run.flows.row(0, named=True)
    data = [one for one in segments(run.path / "packets.pcapng") if one.payload > 0]
    sent, arrived = ([one for one in data if one.interface == end] for end in (0, 1))
    assert len(sent) == row["sent_packets"] and len(arrived) == row["delivered_packets"]
    assert row["retransmissions"] > 0
    assert len(sent) - len({one.sequence for one in sent}) == row["retransmissions"]
    assert {one.payload for one in data} == {1000} and len({one.source for one in data}) == 1
    # Each segment arrives at least 28.3 ms after it was last sent: 20 ms of propagation and 8.3 ms
    # of transmission.
    last = {}
    delays = []
    for one in data:
        if one.interface == 0:
            last[one.sequence] = one.time_s
        else:
            delays.append(one.time_s - last[one.sequence])
    assert sum(delays) / len(delays) == pytest.approx(row["delay_mean"], rel=0.02)
    assert min(delays) >= 0.02 + 8 * arrived[0].size / 1e6 - 1e-9
