"""``bentpipe dtn``: agents as processes on loopback."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from bentpipe.cli import app
from helpers.agents import agent, counts, send, wait_for
from typer.testing import CliRunner


def test_files_cross_two_agents_and_deliveries_are_reported(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one", "two")]
    for number, file in enumerate(files):
        file.write_bytes(bytes([number]) * 100_000)
    inbox = tmp_path / "delivered"
    listen = ("--listen", "tcpcl://127.0.0.1:0")
    with agent("dtn://earth/", tmp_path / "earth", *listen, "--deliver", str(inbox)) as (earth, far):
        peer = ("--peer", f"dtn://earth/=tcpcl://{far}", "--route", "*=dtn://earth/")
        with agent("dtn://mars/", tmp_path / "mars", *listen, *peer) as (mars, near):
            out = send(
                "--to", "dtn://earth/in", "--via", f"tcpcl://{near}",
                "--report-to", "dtn://earth/reports", *map(str, files),
            )  # fmt: skip
            assert re.match(r"2 of 2 bundles accepted in", out)
            wait_for(lambda: len(list(inbox.glob("in/*"))) == 2 and len(list(inbox.glob("reports/*"))) == 2)
            there = {path.read_bytes() for path in inbox.glob("in/*")}
            assert there == {file.read_bytes() for file in files}
            sent = counts(mars)
        got = counts(earth)
    assert (sent["received"], sent["forwarded"], sent["stored"]) == (2, 2, 0)
    assert (got["delivered"], got["reports"], got["stored"]) == (4, 2, 0)


def test_bundles_wait_for_a_peer_over_the_agents_death(tmp_path: Path) -> None:
    listen = ("--listen", "tcpcl://127.0.0.1:0")
    peer = ("--peer", "ipn:9.0=tcpcl://127.0.0.1:1")
    with agent("ipn:3.0", tmp_path / "mars", *listen, *peer) as (mars, near):
        send(
            "--from",
            "ipn:2.1",
            "--to",
            "ipn:9.1",
            "--via",
            f"tcpcl://{near}",
            "--size",
            "1 kB",
            "--count",
            "50",
        )
        mars.kill()
        mars.wait(20)
    with agent("ipn:9.0", tmp_path / "earth", *listen) as (earth, far):
        with agent("ipn:3.0", tmp_path / "mars", "--peer", f"ipn:9.0=tcpcl://{far}", *listen) as (mars, _):
            wait_for(lambda: (tmp_path / "earth" / "bundles.log").stat().st_size > 50_000)
            time.sleep(0.3)
            sent = counts(mars)
        got = counts(earth)
    assert (sent["forwarded"], sent["stored"], got["delivered"]) == (50, 0, 50)


def test_bundles_go_by_a_plan_and_over_ltp(tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text(
        "src,dst,start,end,rate_bps,owlt_s\n3,9,2,100,1000000,0.01\n9,3,2,100,1000000,0.01\n",
        encoding="utf-8",
    )
    inbox = tmp_path / "delivered"
    with agent("ipn:9.0", tmp_path / "earth", "--listen", "ltp://127.0.0.1:0", "--deliver", str(inbox)) as (
        earth,
        far,
    ):
        options = ("--listen", "tcpcl://127.0.0.1:0", "--peer", f"ipn:9.0=ltp://{far}", "--plan", str(plan))
        started = time.monotonic()
        with agent("ipn:3.0", tmp_path / "mars", *options) as (mars, near):
            send("--from", "ipn:2.1", "--to", "ipn:9.1", "--via", f"tcpcl://{near}", "--size", "5 kB")
            wait_for(lambda: len(list(inbox.glob("1/*"))) == 1)
            assert time.monotonic() - started >= 2, "the contact opens 2 s after the start"
            sent = counts(mars)
        got = counts(earth)
    assert (sent["received"], sent["forwarded"] + sent["stored"], got["delivered"]) == (1, 1, 1)


def test_a_key_is_asked_of_every_payload(tmp_path: Path) -> None:
    signing, secret = tmp_path / "signing", tmp_path / "secret"
    signing.write_text("1a" * 48, encoding="utf-8")
    secret.write_text("2b" * 32 + "\n", encoding="utf-8")
    keys = ("--integrity-key", str(signing), "--confidentiality-key", str(secret))
    with agent("dtn://earth/", tmp_path / "earth", "--listen", "tcpcl://127.0.0.1:0", *keys) as (earth, near):
        address = ("--to", "dtn://earth/in", "--via", f"tcpcl://{near}", "--size", "1 kB")
        send(*address, *keys)
        send(*address)
        send(*address, *keys[:2])
        time.sleep(0.3)
        got = counts(earth)
    assert (got["received"], got["delivered"], got["rejected"], got["stored"]) == (3, 1, 2, 0)


def test_a_plan_that_contradicts_itself_is_refused_with_its_lines(tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("src,dst,start,end,rate_bps,owlt_s\n3,9,5,2,1000,1\n", encoding="utf-8")
    arguments = ["agent", "ipn:3.0", "--storage", str(tmp_path / "mars"), "--plan", str(plan)]
    result = CliRunner().invoke(app, ["dtn", *arguments])
    assert result.exit_code == 2
    assert "plan.csv:2: the contact ends at 2 s and starts at 5 s" in " ".join(result.output.split())
    plan.write_text("src,dst,start,end,rate_bps,owlt_s\n4,9,2,5,1000,1\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["dtn", *arguments])
    assert result.exit_code == 2
    assert "contact plan: has no node ipn:3.0" in " ".join(result.output.split())
    assert not (tmp_path / "mars").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["agent", "mars", "--storage", "s"], '"mars" is not an endpoint identifier; allowed: such as'),
        (["agent", "dtn://mars/in", "--storage", "s"], "names an endpoint; allowed: a node such as"),
        (["agent", "dtn://m/", "--storage", "s", "--listen", "http://x"], "allowed: tcpcl://HOST"),
        (["agent", "dtn://m/", "--storage", "s", "--route", "*=dtn://e/"], '"dtn://e/" is not a peer'),
        (["agent", "dtn://m/", "--storage", "s", "--limit", "5 m"], '--limit "5 m": not a positive quantity'),
        (["agent", "dtn://m/", "--storage", "s", "--peer", "dtn://e/"], "has no =; allowed: NODE=LAYER"),
        (["agent", "dtn://m/", "--storage", "s", "--rate", "5 s"], '--rate "5 s": not a positive quantity'),
        (["send", "--to", "dtn://e/in", "--size", "1 B", "--via", "ltp://h"], "allowed: tcpcl://HOST"),
        (
            ["send", "--to", "dtn://e/in", "--size", "1 B", "--integrity-key", "missing"],
            "--integrity-key missing: No such file or directory",
        ),
        (
            ["agent", "dtn://m/", "--storage", "s", "--confidentiality-key", "/etc/hostname"],
            "not a key; allowed: 16 or 32 bytes as hexadecimal digits",
        ),
        (["send", "--to", "dtn://e/in"], "give either files or --size"),
        (["send", "--to", "nowhere", "--size", "1 kB"], '"nowhere" is not an endpoint identifier'),
        (
            ["send", "--to", "dtn://e/in", "--size", "1 kB", "--via", "tcpcl://127.0.0.1:1"],
            "allowed: the address of a running agent",
        ),
    ],
)
def test_what_is_wrong_is_named(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["dtn", *arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not list(tmp_path.iterdir()), "nothing is written"
