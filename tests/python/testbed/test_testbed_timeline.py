"""The test bed's data over time: marks, the network with the paths of flows, calls, and the plan of
a campaign."""

from __future__ import annotations

import io
import wave
from typing import Any

import pytest
from bentpipe.results.runs import Run
from bentpipe.testbed import calls
from helpers.beds import Bed, _cheap_passwords, bed, launched, said
from httpx2 import Client
from rigs.testbeds import SMALL, until

__all__ = ["_cheap_passwords", "bed"]

#: A rate that falls at 8 s, so that the queue of the upload overflows, and a call.
FALLING = (
    SMALL
    + """
[[flow]]
name = "call"
from = "user"
to = "server"
app = { kind = "voice", codec = "G.711u", playout = { kind = "fixed", delay = "60 ms" } }
transport = "udp"

[[change]]
at = "8 s"
set.link.sat.rate = "1 Mbit/s"
"""
)


def ended(bed: Bed, ada: Client, text: str, **more: Any) -> str:
    """Launches a run, waits for its end, and returns its id."""
    (run,) = launched(ada, text=text, **more)
    bed.execute()
    until(lambda: ada.get(f"/api/runs/{run['id']}").json()["state"] == "done")
    found: str = run["id"]
    return found


def test_marks_network_and_calls_of_a_run(bed: Bed) -> None:
    ada, bob = bed.join("ada"), bed.join("bob")
    run = ended(bed, ada, FALLING)
    at = f"/api/runs/{run}"
    # Every drop and retransmission of the traces is in a mark.
    marks = ada.get(f"{at}/marks").json()
    of = Run(bed.settings.folder(1, run))
    for kind, quantity in (("loss", "link.dropped"), ("retransmission", "tcp.retransmissions")):
        last = of.trace(quantity).group_by(of.trace(quantity).columns[1]).last()
        counted = sum(one["count"] for one in marks if one["kind"] == kind)
        assert counted == last[quantity.rpartition(".")[2]].sum() > 0, kind
    changes = [(one["label"], one["start"]) for one in marks if one["kind"] == "change"]
    assert changes == [("link.sat.rate = 1 Mbit/s", 8.0)]
    # A shorter range separates the drops, at the times of the trace.
    drops = of.trace("link.dropped").filter(of.trace("link.dropped")["dropped"] > 0)
    first = float(drops["time"].min())  # type: ignore[arg-type]
    part = ada.get(f"{at}/marks", params={"from": first - 0.001, "to": first + 0.01}).json()
    assert next(one["start"] for one in part if one["kind"] == "loss") == first
    assert next(one["count"] for one in part if one["kind"] == "loss") == 1
    assert "not before" in said(ada.get(f"{at}/marks", params={"from": 5, "to": 5}))
    assert bob.get(f"{at}/marks").status_code == 404
    # The paths of flows name the links as the trace does.
    network = ada.get(f"{at}/network").json()
    path = {one["name"]: one for one in network["flows"]}["up"]
    links = set(of.trace("link")["link"].unique())
    assert {hop["part"] for hop in (*path["there"], *path["back"])} & links
    assert path["there"][0]["from"] == "user" and path["there"][-1]["to"] == "server"
    # Calls are rendered through the codec, as long as the call.
    found = ada.get(f"{at}/calls").json()
    assert [(one["name"], one["codec"]) for one in found] == [("call", "G.711u"), ("call.reverse", "G.711u")]
    assert 1 <= found[0]["mos"] <= 4.5
    answer = ada.get(f"{at}/speech/call")
    assert answer.headers["content-type"] == "audio/wav"
    with wave.open(io.BytesIO(answer.content)) as heard:
        assert heard.getframerate() == 8000
        assert 10 < heard.getnframes() / 8000 <= 21
    spoken = ada.get(f"{at}/speech/call", params={"spoken": True})
    assert len(spoken.content) == len(answer.content)
    assert "is not a call" in said(ada.get(f"{at}/speech/up"))


def test_rendered_speech_is_limited(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The speech of a long call is cut before it is rendered."""
    monkeypatch.setattr(calls, "MAX_SPEECH_S", 2.0)
    calls.speech_of.cache_clear()
    ada = bed.join("ada")
    run = ended(bed, ada, FALLING)
    with wave.open(io.BytesIO(ada.get(f"/api/runs/{run}/speech/call").content)) as heard:
        assert heard.getnframes() <= 16_000
    calls.speech_of.cache_clear()


def test_the_plan_of_a_campaign_has_the_cost_of_every_point(bed: Bed) -> None:
    """The points are those of the launch, with the reason where one cannot run."""
    ada = bed.join("ada")
    campaign = (
        "\n[campaign]\nreplications = 3\n"
        'vary."link.sat.rate" = ["1 Mbit/s", "10 Mbit/s"]\nvary."duration" = ["10 s", "100 d"]\n'
    )
    wanted = {"text": SMALL + campaign, "instruments": ["simulate"]}
    plan = ada.post("/api/drafts/points", json=wanted).json()
    assert plan["keys"] == ["link.sat.rate", "duration"]
    assert (plan["count"], plan["replications"], plan["runs"]) == (4, 3, 12)
    assert [one["values"] for one in plan["points"]] == [
        [rate, duration] for rate in ("1 Mbit/s", "10 Mbit/s") for duration in ("10 s", "100 d")
    ]
    slow, refused, fast, _ = plan["points"]
    # Ten times the rate has ten times the packets.
    assert fast["events"] / slow["events"] == pytest.approx(10, rel=0.1)
    assert slow["seconds"] > 3 and "30 days" in refused["refused"] and refused["seconds"] is None
    # Without a campaign, the plan is one run.
    single = ada.post("/api/drafts/points", json={"text": SMALL, "instruments": ["simulate"]}).json()
    assert (single["count"], single["runs"], single["keys"]) == (1, 1, [])
    large = SMALL + f"\n[campaign]\nvary.seed = {list(range(3000))}\n"
    assert "at most 2000" in said(ada.post("/api/drafts/points", json={"text": large, "instruments": []}))
