"""No command ends in a traceback or shows error numbers and texts of libraries, for any input."""

from __future__ import annotations

import contextlib
import io
import json
import re
import traceback
import wave
from pathlib import Path
from types import SimpleNamespace

import bentpipe as bp
import pytest
from bentpipe import _native, series
from bentpipe.cli import app
from bentpipe.errors import InputError
from helpers.folders import SCENARIO, write_run
from rigs import commands
from rigs.networks import Bentpipe, needs, networks

#: Files and folders that a command does not expect, with their contents; None is a folder.
FILES: dict[str, bytes | None] = {
    "directory": None,
    "empty.toml": b"",
    "binary.toml": bytes(range(256)) * 10,
    "binary.csv": bytes(range(256)) * 10,
    "binary.parquet": bytes(range(256)) * 10,
    "text.toml": b"hello world\n",
    "ragged.csv": b"time,rate\n0,1\n1,2,3\n",
    "words.csv": b"time,rate\n0,1\n1,many\n",
    "columns.csv": b"a,b\n0,1\n",
    "broken.json": b'{"name": ',
}
WRONG = [
    *FILES,
    "missing.toml",
    "dangling.toml",
    "good.toml/below",
    "/dev/null",
    "x" * 300,
    "run",
    "good.toml",
]
TARGETS = ["/dev/full", "good.toml/below", "directory", "run", "/proc/nobody/x", "out.xyz", "x" * 300]

READ = [
    *("simulate {} --no-report", "check {}", "show {}", "predict {}", "plot {}", "report {}", "explain {}"),
    *("plot run {}", "plot constellation {}", "compare {} run", "compare run {}", "reproduce {}", "new {}"),
    *("trace {} out.csv", "trace {} out.parquet", "trace {} out --duration 1", "variants {}", "net down {}"),
    *("campaign run {} --replications 1", "campaign show {}", "campaign table {}", "campaign plot {}"),
    *("campaign export {} out.csv", "campaign batches {} rtt", "net watch {} --once", "net set {} a=1"),
    *("net up {} --name ../x", "net exec {} -- true", "voice listen run --speech {}"),
]
WRITE = [
    *("simulate good.toml --no-report --out {}", "simulate good.toml --vary seed=1,2 --no-report --out {}"),
    *("show good.toml --out {}", "schema --out {}", "new geo --out {}", "report run --out {}"),
    *(
        "plot run --out {}",
        "compare run run --out {}",
        "explain run --out {}",
        "trace good.csv {} --duration 1",
    ),
    *("campaign run good.toml --replications 1 --out {}", "plot constellation sky.toml --out {}"),
]
OTHER = [
    *("simulate good.toml --set x", "simulate good.toml --vary x", "simulate good.toml --vary seed=-1,2"),
    *("simulate good.toml --seed 99999999999999999999", "explain run --at noon", "plot run --figure x"),
    *("plot run --format gif", "campaign batches run rtt --confidence nan", "new no-such-preset"),
    *("campaign batches run rtt --warm-up 1e9", "trace good.csv out --duration 1e-9", "net set x"),
    *(
        "plot constellation sky.toml --at 1e99",
        "reproduce dama --clock x",
        "machine pep --mark x",
        "run nothing -- true",
        "audit --promise rate=fast -- true",
        "audit --hosts 192.0.2.1 192.0.2.2",
        "audit --promise delay=1",
        "conform quic",
        "conform bbr3 --case no-such-case",
        "conform bbr3 --control no-such-file.c",
    ),
    *("profiles no-such-profile", "export good.toml --to no-such-tool", "export no-such-file --to netem"),
    *(
        "campaign run good.toml",
        "campaign run good.toml --vary seed=-1,2",
        "compare run run --out run/flows.parquet",
    ),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    for name, content in FILES.items():
        if content is None:
            (folder / name).mkdir()
            (folder / name / "letter").touch()
        else:
            (folder / name).write_bytes(content)
    (folder / "dangling.toml").symlink_to("nowhere")
    text = SCENARIO.format(name="Upload", scheme="rbdc", congestion="reno")
    (folder / "good.toml").write_text(text.replace("100 s", "1 s"))
    (folder / "sky.toml").write_text('name = "sky"\nduration = "1 s"\npreset = "geo-five"\n')
    (folder / "good.csv").write_text("time,rate\n0,1000\n1,2000\n")
    write_run(folder / "run")
    return folder


def called(*arguments: str) -> tuple[int | str | None, str]:
    """Returns the exit code and output of a command, or None and the exception that it raised."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            app(list(arguments))
        except SystemExit as end:
            return end.code, said.getvalue()
        except BaseException:  # noqa: BLE001 - what must not be
            return None, traceback.format_exc()
    return 0, said.getvalue()


@pytest.mark.parametrize("name", [pytest.param(name, id=name[:20]) for name in WRONG])
def test_a_wrong_file_is_a_message(place: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    _none_raises(place, monkeypatch, [line.split() for line in READ], name)


@pytest.mark.parametrize("name", [pytest.param(name, id=name[:20]) for name in TARGETS])
def test_a_place_that_cannot_be_written_is_a_message(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _none_raises(place, monkeypatch, [line.split() for line in WRITE], name)


def test_a_wrong_value_is_a_message(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _none_raises(place, monkeypatch, [line.split() for line in OTHER], "")


def _none_raises(place: Path, monkeypatch: pytest.MonkeyPatch, lines: list[list[str]], name: str) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("BENTPIPE_STATE", str(place / "state"))
    for words in lines:
        line = [word.replace("{}", name) for word in words]
        code, said = called(*line)
        assert code is not None, f"{line}\n{said}"
        assert not re.search(r"\[Errno|os error|Traceback|polars|pyarrow", said), f"{line}\n{said}"
        assert code == 0 or said.strip(), line
        assert "is now bentpipe" not in said, line


@pytest.mark.parametrize("line", ["run geo-ka ping -c 1 server", "net exec user ping -c 1 server"])
def test_a_command_without_dashes_is_shown_with_them(line: str) -> None:
    code, said = called(*line.split())
    before, ping, after = line.partition("ping")
    shown = f"{before}-- {ping}{after}"
    assert code == 2 and "write -- before the command" in said and shown in " ".join(said.split())


def test_show_writes_what_its_file_is_called_and_check_reads_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    for name in ("resolved.toml", "resolved.json"):
        assert called("show", "good.toml", "--out", name)[0] == 0
        assert bp.check(name) == []
        assert bp.load(name).data == bp.load("good.toml").data
    assert json.loads(Path("resolved.json").read_text()) == bp.load("good.toml").data
    code, said = called("show", "good.toml", "--out", "resolved.yaml")
    assert code == 2 and ".toml, .json" in said and not Path("resolved.yaml").exists()
    wrong = Path("resolved.json").read_text().replace('"rbdc"', '"rbcd"')
    Path("wrong.json").write_text(wrong)
    (problem,) = bp.check("wrong.json")
    line = next(number for number, text in enumerate(wrong.splitlines(), 1) if "rbcd" in text)
    assert (problem["file"], problem["line"], problem["nearest"]) == ("wrong.json", line, "rbdc")


def test_an_override_is_blamed_by_where_it_was_written(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    with pytest.raises(bp.ScenarioError, match=r"^argument seed: seed = -1"):
        bp.simulate("good.toml", seed=-1, out="seeded")
    with pytest.raises(InputError, match="run = -1"):
        bp.simulate("good.toml", run=-1, out="seeded")
    blamed = {
        "simulate good.toml --set duration=x": "--set duration = x",
        "simulate good.toml --vary seed=-1,2": "--vary: seed = -1",
        "campaign run good.toml --set duration=x --vary seed=1": "--set duration = x",
        "campaign run good.toml --vary seed=-1,2": "--vary: campaign.vary.seed = [-1, 2]",
        "campaign run good.toml --vary seed=1 --seed 99999999999999999": "--seed: seed = 99999999999999999",
    }
    for line, start in blamed.items():
        code, said = called(*line.split())
        assert code == 2 and said.startswith(f"bentpipe: {start}"), said


def test_a_file_in_place_of_its_table_is_shown_with_the_right_form() -> None:
    scenario = {
        "name": "a",
        "duration": "1 s",
        "link": [
            {"name": "w", "from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "1 ms", "trace": "my.csv"}
        ],
    }
    (problem,) = bp.check(scenario)
    assert '{ samples = { file = "lte.csv" } }' in problem["message"]
    scenario["link"][0]["trace"] = {"samples": "my.csv"}  # type: ignore[index]
    (problem,) = bp.check(scenario)
    assert '{ file = "my.csv" }' in problem["allowed"][0]


def test_two_parts_of_one_name_are_counted_alike() -> None:
    link = {"name": "w", "from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "1 ms"}
    (problem,) = bp.check({"name": "a", "duration": "1 s", "link": [link, link]})
    assert (problem["path"], problem["message"]) == ("link.1.name", "is also the name of link.0")


def test_a_value_that_is_no_number_is_named(place: Path) -> None:
    with pytest.raises(InputError, match='rate of sample 2 is "many"'):
        series.read(place / "words.csv")


@pytest.mark.parametrize("call", [_native.simulate, _native.emulate])
def test_options_of_the_native_module_that_are_misspelt_are_refused(place: Path, call: object) -> None:
    scenario = _native.Scenario(str(place / "good.toml"), None, [])
    with pytest.raises(ValueError, match="unknown field `alow_commands`"):
        call(scenario, 0, str(place / "unused"), '{"alow_commands": true}', None, None)  # type: ignore[operator]
    with pytest.raises(ValueError, match="unknown field `mtus`"):
        _native.Network(scenario, '{"mtus": 1500}')


@networks
@needs("unshare")
@pytest.mark.parametrize(
    ("options", "said"), [("size=300k", "no space left"), ("ro", "read-only file system")]
)
def test_a_disk_that_is_full_or_read_only(bentpipe: Bentpipe, place: Path, options: str, said: str) -> None:
    (place / "runs").mkdir(exist_ok=True)
    script = f'cd {place} && mount -t tmpfs -o {options} none runs && exec "$@"'
    disk = Bentpipe(bentpipe.state, before=["unshare", "-m", "sh", "-c", script, "sh"])
    for line in (
        ["campaign", "run", "good.toml", "--replications", "40"],
        ["simulate", "good.toml", "--set", "duration=100 s"],
    ):
        done = disk.done(*line)
        assert done.returncode == 1 and said in done.stderr.lower(), done.stderr
        assert not re.search(r"Traceback|\[Errno|os error", done.stderr), done.stderr


def test_check_finds_what_campaigns_refuse_and_counts_runs(tmp_path: Path) -> None:
    varied = 'vary.link.sat.delay = ["5 ms", "6 ms"]\nreplications = 3\n'
    text = (
        'name = "c"\nduration = "1 s"\npreset = "geo-ka"\n[campaign]\n{}'
        '[[flow]]\nname = "up"\nfrom = "user"\nto = "server"\napp = "bulk"\n'
        'transport = {{ kind = "tcp", quick_start = "1 Mbit/s" }}\n'
    )
    file = tmp_path / "c.toml"
    file.write_text(text.format(varied))
    code, said = called("check", str(file))
    assert code == 0 and "6 runs: 2 variants x 3 replications" in said
    # A request that no part of the path grants.
    assert "up: quick_start has no effect, because sat does not support it" in " ".join(said.split())
    code, said = called("check", str(file), "--set", "link.sat.return.quick_start=0.5")
    assert code == 0 and "quick_start has no effect" not in said
    for resumed, reason in (
        ('"earlier"', "no other flow between user and server has"),
        ('{cwnd=300,rtt="2 s"}', "the round-trip time of 560 ms is at most half of the saved 2 s"),
        ('{cwnd=300,rtt="50 ms"}', "the round-trip time of 560 ms is more than ten times the saved 50 ms"),
        ('{cwnd=300,rtt="600 ms"}', ""),
    ):
        file.write_text(
            text.format(varied).replace('quick_start = "1 Mbit/s"', f"careful_resume = {resumed}")
        )
        code, said = called("check", str(file))
        words = " ".join(said.split())
        assert code == 0 and ("careful_resume has no effect" in words) == bool(reason) and reason in words
    for line in (
        "vary.link.sat.error.probabilty = [0.1]\n",
        'vary.flow.up.transport.congestion = ["reno", "cubik"]\n',
        "vary.link.sat.nothing = [1]\n",
        "vary.seed = [1, 1]\n",
    ):
        file.write_text(text.format(line))
        refused = called("campaign", "show", str(file))
        assert refused[0] == 2 and called("check", str(file)) == refused
        assert bp.check(file)[0]["path"].startswith("campaign")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("check sky.toml --set duration=1000_years", "duration = 1000 years: is out of range"),
        ("check sky.toml --set duration=280_msec", 'did you mean "280 ms"?'),
        ("check sky.toml --set seed=x --set duration=1", "--set duration = 1: expected a span"),
        ("check list.json", "list.json: is a list in JSON, not a scenario; allowed: a table"),
        (
            "space contacts show semicolons.csv",
            "semicolons.csv:1: values are separated by semicolons; allowed: commas",
        ),
        ("space budget budget.csv", "line 1: down.frequency: expected a frequency"),
        ("plot run --figure rtt --figure x --figure y", 'unknown figure "y"'),
        ("compare run run --figure none --figure rtt", "--figure none: allowed only without other figures"),
        ("compare run run --figure rtt --flow f", "--figure rtt: allowed only without --flow"),
        ("export run flows.csv --flow f", "--flow f: allowed only for a .out or .sqlog file"),
        ("export run client.sqlog", "record.details = true"),
        ("export run np.out --rows tcp", "--rows tcp: not allowed for a .out file"),
        ("plot run --out good.toml", "--out good.toml: is a file; allowed: a folder"),
        ("plot run --figure delays", "the figure delays needs a run of `bentpipe measure`"),
        ("show good.toml --out no/such/x.toml", "no/such/x.toml: there is no folder no/such"),
        ("new geo --out no/such/x.toml", "no/such/x.toml: there is no folder no/such"),
        ("serve --data bed --socket no/such/x", "--socket no/such/x: there is no folder no/such"),
        (
            "voice listen run --speech short.wav",
            "short.wav: 0.0035 s of sound; allowed: a recording of at least 0.5 s",
        ),
    ],
)
def test_a_wrong_input_names_its_place_and_what_is_allowed(
    place: Path, monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    monkeypatch.chdir(place)
    Path("list.json").write_text("[1, 2]")
    Path("semicolons.csv").write_text("src;dst;start\n1;2;3\n")
    Path("budget.csv").write_text("down.frequency,19.7\n")
    with wave.open("short.wav", "wb") as file:
        file.setparams((1, 2, 8000, 28, "NONE", ""))
        file.writeframes(bytes(56))
    code, output = called(*(word.replace("_", " ") if "=" in word else word for word in line.split()))
    assert code == 2 and said in output, output
    assert not Path("no").exists() and not Path("bed").exists()


def test_figures_that_can_be_drawn_are_drawn_beside_one_that_cannot(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    run = bp.simulate("good.toml", out="drawn")
    code, said = called("plot", str(run.path), "--figure", "delays", "--figure", "throughput")
    assert code == 2 and "figure delays: " in said and (run.path / "figures" / "throughput.png").exists()


def test_a_network_in_place_of_its_host_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bentpipe.live.state.records", lambda: [SimpleNamespace(id="d1")])
    code, said = called("net", "exec", "d1", "--", "true")
    assert (
        code == 2 and "d1 is a network: also name the host, as in `bentpipe net exec d1 HOST -- true`" in said
    )


def test_code_is_allowed_by_an_option_after_the_command(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    source = Path("crates/congestion/variants/reno.c").resolve()
    file.write_text(
        'name = "own"\nduration = "1 s"\npreset = "geo"\n[[flow]]\nname = "up"\nfrom = "user"\nto = "server"\n'
        f'app = "bulk"\ntransport = {{ kind = "tcp", congestion = {{ file = "{source}" }} }}\n'
    )
    refused = commands.run("check", file)
    assert refused.returncode == 2 and "--allow-code" in refused.stderr
    assert commands.run("check", file, "--allow-code").returncode == 0
    assert commands.run("check", "--allow-code", file).returncode == 0


def test_rain_writes_the_series_that_its_scenario_names(tmp_path: Path) -> None:
    pytest.importorskip("itur")
    scenario = tmp_path / "hub.toml"
    scenario.write_text(
        'name = "h"\nduration = "60 s"\npreset = "ka-hub"\n[network.sat]\ngateway = "gw"\n'
        'terminals = [{ name = "roma", site = { latitude = "41.9 deg", longitude = "12.5 deg" } }]\n'
        '[network.sat.propagation]\nsatellite = "13 deg"\n'
        'gateway = { latitude = "45.07 deg", longitude = "7.69 deg" }\n'
        '[network.sat.forward]\nacm = { fade = { samples = { file = "fwd.csv" } } }\n'
    )
    storm = ("--storm", "peak=70,at=30", "--duration", 60, "-o", tmp_path / "fwd.csv")
    assert commands.run("space", "rain", scenario, "-f", 19.7, *storm).returncode == 0
    assert commands.run("check", scenario).returncode == 0
    # Other missing or wrong input is still refused.
    scenario.write_text(scenario.read_text().replace('"60 s"', '"60 S"'))
    assert 'did you mean "60 s"' in commands.run("space", "rain", scenario, "-f", 19.7, *storm).stderr
