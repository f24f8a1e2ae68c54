"""Scenarios in the test bed: as attacks, as edited drafts, and as named configurations. Numbers in
the names of tests refer to the abuse cases in docs/notes/abuse-cases.md."""

from __future__ import annotations

import json
import re
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from bentpipe.testbed import accounts, instruments, rules
from bentpipe.testbed.drafts import edit, view
from bentpipe.testbed.executor import Executor
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.tables import Run
from helpers.beds import Bed, _cheap_passwords, bed, launched, said, saved
from rigs.testbeds import SMALL, until
from sqlalchemy import select

__all__ = ["_cheap_passwords", "bed"]

LINK = """
[[link]]
name = "{0}"
from = "{0}"
to = "{1}"
rate = "5 Mbit/s"
delay = "10 ms"
"""

ATTACKS: dict[str, str] = {
    # 15: paths
    "trace": '[[link]]\nname = "sat"\ntrace = { samples = { file = "/etc/passwd" } }',
    "up": '[[link]]\nname = "sat"\ntrace = { samples.file = "../../secret" }',
    "quoted": '[[link]]\nname = "sat"\n"trace" = { "samples" = { "fi\\u006ce" = "/proc/self/environ" } }',
    "elements": '[network.x]\nkind = "constellation"\nshell = [{ elements = { file = "/dev/zero" } }]',
    "varied": '[campaign]\nvary."link.sat.trace.samples.file" = ["/etc/shadow"]',
    "varied table": "[campaign]\nlist = [{ 'link.sat.trace' = { samples = { file = '/etc/shadow' } } }]",
    # 16: programs
    "command": '[[flow]]\nname = "x"\nfrom = "user"\nto = "server"\ntransport = { kind = "udp" }\n'
    'app = { kind = "command", run = "id" }',
    "varied command": '[campaign]\nvary."flow.up.app" = [{ kind = "command", run = "id" }]',
    "varied kind": '[campaign]\nvary."flow.up.app.kind" = ["command"]',
    "varied program": '[campaign]\nvary."flow.up.app.run" = ["id"]',
    # 18: bombs
    "terminals": '[network.x]\nkind = "dvb-rcs"\nterminals = [{ name = "t", count = 65000 }]\ngateway = "g"',
    "deep": "x = " + "[" * 200 + "]" * 200,
    "deeper": "x = " + "[" * 100_000 + "]" * 100_000,
    "long": "# " + "x" * 300_000,
    "many": "x = [" + "1," * 60_000 + "]",
    # The largest number of digits that fits into a text.
    "digits": "x = " + "9" * 200_000,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_15_16_18_scenarios_as_attacks(bed: Bed, attack: str) -> None:
    """Attacks are refused when saved, viewed and launched, with a reason that reveals nothing of
    this machine."""
    ada = bed.join("ada")
    scenario = f"{SMALL}\n{ATTACKS[attack]}\n"
    # Processor time, because a request may wait on a busy machine.
    started = time.process_time()
    for answer in (
        ada.post("/api/runs", json={"text": scenario}),
        ada.post("/api/runs", json={"text": scenario, "campaign": True}),
        ada.post("/api/configurations", json={"name": "x", "text": scenario}),
        ada.post("/api/drafts/edit", json={"text": scenario, "edits": []}),
    ):
        assert answer.status_code in (413, 422), answer.text
        assert "root:" not in answer.text
    seen = ada.post("/api/drafts/view", json={"text": scenario}).json()
    assert not seen["valid"] and "root:" not in json.dumps(seen)
    assert time.process_time() - started < 10


def test_15_16_a_change_of_one_value_adds_no_path_and_no_program(bed: Bed) -> None:
    ada = bed.join("ada")
    for path, value in (
        (["link", "sat", "trace", "samples"], {"file": "/etc/passwd"}),
        (["flow", "up", "app"], {"kind": "command", "run": "id"}),
    ):
        made = ada.post("/api/drafts/edit", json={"text": SMALL, "edits": [{"path": path, "value": value}]})
        assert not ada.post("/api/drafts/view", json={"text": made.json()["text"]}).json()["valid"]
        assert ada.post("/api/runs", json={"text": made.json()["text"]}).status_code == 422


def test_16_the_executor_checks_again(bed: Bed) -> None:
    """The executor also refuses a scenario that reached the database by other means."""
    ada = bed.join("ada")
    launched(ada)
    with bed.store.writing() as rows:
        row = rows.scalars(select(Run)).one()
        row.scenario = SMALL.replace('"bulk" ', '{ kind = "command", run = "touch /tmp/bentpipe-was-here" }')
    bed.execute()
    ended = until(lambda: [one for one in ada.get("/api/runs").json() if one["ended"]])
    assert ended[0]["state"] == "failed" and "program" in ended[0]["reason"]
    assert not Path("/tmp/bentpipe-was-here").exists()


def test_a_key_that_a_campaign_varies_has_to_exist(bed: Bed) -> None:
    """Values are refused in the draft, at the key of the campaign, and at the launch, in terms of
    the page."""
    ada = bed.join("ada")
    for line, path, word in (
        ("vary.loss = [1, 2]", "campaign.vary.loss", "unknown key"),
        ('vary."link.sat.delay" = ["1 s", 2]', "campaign.vary.link.sat.delay", "span of time"),
    ):
        text = f"{SMALL}\n[campaign]\n{line}\n"
        seen = ada.post("/api/drafts/view", json={"text": text}).json()
        assert not seen["valid"]
        (problem,) = seen["problems"]
        assert (problem["path"], problem["line"]) == (path, None) and word in problem["message"]
        answer = ada.post("/api/runs", json={"text": text, "campaign": True})
        assert answer.status_code == 422 and word in said(answer) and "--set" not in said(answer)


def test_instruments_that_cannot_run_are_refused_before_the_launch(bed: Bed) -> None:
    """The draft and the launch give the same reasons: those of the machine, which the executor
    examines, and those of the scenario. Reasons name no folder of the machine."""
    ada = bed.join("ada")

    def impossible(text: str) -> dict[str, str]:
        found: dict[str, str] = ada.post("/api/drafts/view", json={"text": text}).json()["impossible"]
        for instrument in ("simulate", "kernel", "emulate"):
            answer = ada.post("/api/runs", json={"text": text, "instruments": [instrument]})
            assert (answer.status_code == 201) == (instrument not in found)
            if instrument in found:
                assert said(answer).removeprefix(f"{instrument}: ") == found[instrument]
        return found

    assert impossible(SMALL) == {"emulate": instruments.REAL_TIME_DISABLED}
    instruments.write(bed.settings, {"kernel": instruments.NO_KERNEL})
    assert impossible(SMALL) == {"emulate": instruments.REAL_TIME_DISABLED, "kernel": instruments.NO_KERNEL}
    instruments.write(bed.settings, {})
    router = SMALL.replace(
        'preset = "geo"', "".join(LINK.format(*ends) for ends in (("user", "router"), ("router", "server")))
    )
    assert impossible(router) == {"emulate": instruments.REAL_TIME_DISABLED}
    proxy = f'{router}\n[[proxy]]\nname = "pep"\nnode = "router"\n'
    assert impossible(f'{proxy}mechanism = "split"\n') == {"emulate": instruments.REAL_TIME_DISABLED}
    example = Path(__file__).parents[3] / "examples" / "dtn-proxy.toml"
    bundles = impossible(example.read_text(encoding="utf-8"))
    assert bundles["kernel"].startswith('proxy.entrance.mechanism is simulated, and flow "file"')
    linux = impossible(router.replace('"reno"', '"linux-illinois"'))
    assert "needs the instrument kernel or emulate" in linux["simulate"] and "kernel" not in linux
    idle = impossible(router.partition("[[flow]]")[0] + router.partition('"reno" }')[2])
    assert "has no flow" in idle["simulate"] and idle["kernel"] == idle["simulate"]
    long = impossible(router.replace("20 s", "2000 s"))
    assert set(long) == {"emulate"}


def test_the_executor_reports_a_missing_kernel(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(bed.settings.data / "cache"))
    bed.execute()
    until(bed.settings.instruments.exists)
    assert instruments.of_machine(bed.settings) == {
        "emulate": instruments.REAL_TIME_DISABLED,
        "kernel": instruments.NO_KERNEL,
    }


def test_reasons_of_failed_runs_name_no_folder(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Executor, run: Run) -> tuple[str, str]:
        raise OSError(f"{self.settings.folder(1, run.id)}/traces/tcp.parquet is damaged, at 5 kbit/s")

    monkeypatch.setattr(Executor, "_run", broken)
    ada = bed.join("ada")
    (run,) = launched(ada)
    bed.execute()
    ended = until(lambda: (one := ada.get(f"/api/runs/{run['id']}").json())["ended"] and one)
    assert ended["reason"] == "the executor failed: tcp.parquet is damaged, at 5 kbit/s"


def test_17_names_are_only_names(bed: Bed) -> None:
    """The test bed chooses the names of folders. Names by users are stored unchanged, or refused if
    they would deceive."""
    ada = bed.join("ada")
    for name in ("../../x", "; rm -rf ~", "CON", "a'b\"c", "<script>alert(1)</script>", "ü" * 100):
        assert saved(ada, name)["name"] == name
    for name in ("", "a\nb", "a\x00b", "x" * 121, "abc\u202edef"):
        assert ada.post("/api/configurations", json={"name": name, "text": SMALL}).status_code == 422
    for name in ("../x", "a b", "", "a" * 40, "a\u202eb"):
        with pytest.raises(Refused):
            accounts.valid_name(name)
    launched(ada, name="../../escape")
    with bed.store.reading() as rows:
        run = rows.scalars(select(Run)).one()
    assert re.fullmatch("[0-9a-f]{16}", run.id)
    assert bed.settings.folder(run.owner_id, run.id).parent.parent == bed.settings.runs


@pytest.mark.parametrize(
    "change, word",
    [
        ({"20 s": "1000000000 s"}, "30 days"),
        ({"20 s": "29 d"}, "events"),
        (
            {
                'preset = "geo"': 'preset = "geo"\nlink = [{ name = "sat", rate = "900 Gbit/s" }]',
                "20 s": "1000 s",
            },
            "events",
        ),
    ],
)
def test_18_runs_that_would_cost_too_much_are_refused_with_the_reason(
    bed: Bed, change: dict[str, str], word: str
) -> None:
    scenario = SMALL
    for old, new in change.items():
        scenario = scenario.replace(old, new)
    answer = bed.join("ada").post("/api/runs", json={"text": scenario})
    assert answer.status_code == 422 and word in said(answer), answer.text


@pytest.mark.parametrize(
    "limit, word", [({"seconds": 0.01}, "longer than"), ({"bytes": 2_000}, "File too large|MB, the limit")]
)
def test_18_a_run_that_exceeds_a_limit_ends_with_the_reason(
    bed: Bed, monkeypatch: pytest.MonkeyPatch, limit: dict[str, Any], word: str
) -> None:
    ada = bed.join("ada")
    launched(ada)
    from dataclasses import replace

    monkeypatch.setitem(rules.OF_LEVEL, "user", replace(rules.OF_LEVEL["user"], **limit))
    bed.execute()
    found = until(lambda: [one for one in ada.get("/api/runs").json() if one["state"] == "failed"])
    assert re.search(word, found[0]["reason"]), found[0]["reason"]


def test_20_emulation_in_real_time_is_off_unless_the_administrator_allows_it(bed: Bed) -> None:
    root = bed.join("root", "administrator")
    answer = root.post("/api/runs", json={"text": SMALL, "instruments": ["emulate"]})
    assert answer.status_code == 409 and "--real-time" in said(answer)


@pytest.mark.parametrize(
    "path, value, expected",
    [
        (["duration"], "30 s", 'duration = "30 s"'),
        (["flow", "up", "transport", "congestion"], "hybla", 'congestion = "hybla"'),
        (["flow", "up", "app", "size"], "2 MB", 'app = {kind = "bulk", size = "2 MB"}'),
        (["link", "sat", "rate"], "5 Mbit/s", '[[link]]\nname = "sat"\nrate = "5 Mbit/s"'),
        (["campaign", "vary", "seed"], [1, 2], "[campaign]\nvary = {seed = [1, 2]}"),
    ],
)
def test_a_change_of_one_value_keeps_the_text(path: list[str], value: object, expected: str) -> None:
    changed = edit(SMALL, path, value)
    assert expected in changed
    assert view(changed, "user")["valid"], changed
    before, after = SMALL.splitlines(), changed.splitlines()
    if path[0] not in ("flow", "duration"):
        assert after[: len(before)] == before


def test_an_entity_is_added_and_removed() -> None:
    added = edit(
        SMALL,
        ["flow", "other"],
        {"from": "user", "to": "server", "app": {"kind": "bulk"}, "transport": {"kind": "tcp"}},
    )
    assert [flow["name"] for flow in view(added, "user")["resolved"]["flow"]] == ["up", "other"]
    removed = edit(added, ["flow", "other"], None)
    assert view(removed, "user")["resolved"] == view(SMALL, "user")["resolved"]
    assert edit(SMALL, ["link", "none", "rate"], None) == SMALL


def test_every_preset_and_template_has_a_picture(bed: Bed) -> None:
    """In each picture, every edge joins two drawn nodes, no node is isolated, and every part has a
    panel."""
    ada = bed.join("ada")
    for template in ada.get("/api/templates").json():
        scenario = ada.get(f"/api/templates/{template['name']}").json()["text"]
        seen = view(scenario, "administrator")
        if template["name"] == "blank":
            continue
        assert seen["valid"], (template["name"], seen["problems"])
        nodes = {node["id"] for node in seen["picture"]["nodes"]}
        assert len(nodes) >= 2
        assert all({edge["from"], edge["to"]} <= nodes for edge in seen["picture"]["edges"]), template["name"]
        joined = {edge[end] for edge in seen["picture"]["edges"] for end in ("from", "to")}
        assert nodes == joined, template["name"]


def test_configurations_are_forked_reset_and_shared(bed: Bed) -> None:
    ada, bob = bed.join("ada"), bed.join("bob")
    mine = saved(ada)
    assert said(ada.post("/api/configurations", json={"name": "mine", "text": SMALL})).startswith(
        'a configuration "mine" already exists'
    )
    changed = ada.put(
        f"/api/configurations/{mine['id']}", json={"version": 1, "text": SMALL + "# more\n"}
    ).json()
    # Two windows: the second one does not overwrite the version that the first has saved.
    lost = ada.put(f"/api/configurations/{mine['id']}", json={"version": 1, "text": SMALL})
    assert lost.status_code == 409 and "elsewhere" in said(lost)
    assert bob.get(f"/api/configurations/{mine['id']}").status_code == 404
    ada.put(f"/api/configurations/{mine['id']}", json={"version": changed["version"], "shared": True})
    assert bob.get(f"/api/configurations/{mine['id']}").json()["text"] == SMALL + "# more\n"
    assert bob.put(f"/api/configurations/{mine['id']}", json={"version": 3, "name": "his"}).status_code == 403
    copy = bob.post(f"/api/configurations/{mine['id']}/fork", json={"name": "copy"}).json()
    assert copy["owner"] == "bob" and not copy["shared"]
    reset = ada.post(f"/api/configurations/{mine['id']}/reset").json()
    assert (reset["id"], reset["text"]) == (mine["id"], SMALL)


def test_tables_without_names_are_added_by_position_and_leave_no_empty_list() -> None:
    """Changes and handovers have no names. A network is a table of its own, and keeps the lines of
    its plan."""
    value = {"at": "10 s", "set": {"link": {"sat": {"rate": "1 Mbit/s"}}}}
    added = edit(edit(SMALL, ["change", "0"], value), ["change", "1"], value | {"at": "12 s"})
    assert [one["at"] for one in tomllib.loads(added)["change"]] == ["10 s", "12 s"]
    assert "name" not in tomllib.loads(added)["change"][0]
    emptied = edit(edit(added, ["change", "1"], None), ["change", "0"], None)
    assert emptied.rstrip() == SMALL.rstrip()
    plan = "id,src\n1,a\n"
    with_network = edit(SMALL, ["network", "space"], {"kind": "bundles", "plan": plan})
    assert "\n[network.space]\n" in with_network
    assert "id,src\n1,a\n" in with_network
    assert tomllib.loads(with_network)["network"]["space"]["plan"] == plan
