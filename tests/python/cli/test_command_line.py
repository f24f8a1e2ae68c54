"""The commands as a person or a script calls them, each in a separate process; the main ones in a
new Python."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bentpipe.campaign.jobs import NOTE
from bentpipe.cli.renamed import COMMANDS as COMMANDS_RENAMED
from bentpipe.results.flows import FAILURES
from helpers import ROOT
from helpers.command_tree import FAMILIES, TREE
from helpers.folders import write_run
from parity.pieces import PAIR, flow
from rigs import commands

COMMANDS = (
    *("new", "profiles", "check", "show", "variants", "trace", "fit", "score", "schema"),
    *("predict", "simulate", "emulate", "measure", "reflect", "audit", "conform", "campaign", "matrix"),
    "reproduce",
    *("report", "plot", "export", "compare", "explain", "run", "shell", "net"),
    *("voice", "space", "dtn", "sensors", "serve", "lab", "docs", "machine"),
)
START = "import sys; sys.argv[0] = 'bentpipe'; from bentpipe.cli import main; main()"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", START, *map(str, arguments)]


def started(*arguments: object, code: int = 0) -> str:
    """Returns the output of a command that is started as a user starts it."""
    return _said(subprocess.run(command(*arguments), capture_output=True, text=True, timeout=120), code)


def call(*arguments: object, code: int = 0) -> str:
    """Returns the output of a command."""
    return _said(commands.run(*arguments), code)


def _said(done: subprocess.CompletedProcess[str], code: int) -> str:
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def test_help_shows_exactly_the_commands(place: Path) -> None:
    listed = started("--help").partition("--help")[2]
    assert sorted(re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE)) == sorted(COMMANDS)
    assert call("--version").startswith("bentpipe ")


@pytest.mark.parametrize("path", TREE)
def test_help_of_every_command_fits_and_is_in_words(place: Path, path: str) -> None:
    """Help fits into 80 columns and shows no types and symbols of Python: ranges, defaults and
    choices are in words. TOML has its braces."""
    text = call(*path.split()[1:], "--help")
    assert max(map(len, text.split("\n"))) <= 80
    assert not re.search(
        r"x[<>]=|<=x|<[a-z|]+>|\{\w|default: \(|INTEGER|FLOAT|TEXT\b|PATH\.\.\.|None\b", text
    ), text
    assert ("--out" in text) == ("-o, --out" in text)


@pytest.mark.parametrize("path", FAMILIES)
def test_no_summary_of_a_command_is_cut_off(place: Path, path: str) -> None:
    lines = call(*path.split()[1:], "--help").splitlines()
    summaries = [line for line in lines[2:] if line.startswith("  ")]
    assert len(summaries) >= 3
    assert not [line for line in summaries if line.endswith("...")]


@pytest.mark.parametrize("old", COMMANDS_RENAMED)
def test_the_old_name_of_a_command_is_refused_with_the_new_one(old: str) -> None:
    new = COMMANDS_RENAMED[old]
    for words in ([old], [old, "--help"], ["--allow-code", old, "further", "words", "--jobs", "x"]):
        done = commands.run(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"bentpipe {old} is now bentpipe {new}\n"
    assert f"bentpipe {old}" not in TREE
    command = " ".join(["bentpipe", *(word for word in new.split() if word.islower() and "." not in word)])
    assert command in TREE


def test_help_is_fast_because_nothing_heavy_is_imported(place: Path) -> None:
    heavy = "{'polars', 'matplotlib', 'pyarrow', 'numpy', 'jinja2', 'pydantic', 'rich'}"
    code = f"import sys, bentpipe.cli; print({heavy} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_simulate_imports_nothing_that_its_table_does_not_need(place: Path, scenario: Path) -> None:
    code = (
        "import atexit, sys\n"
        "from bentpipe.cli import main\n"
        "heavy = {'matplotlib', 'numpy', 'scipy', 'jinja2', 'pydantic', 'rich.progress'}\n"
        "atexit.register(lambda: print('imported', sorted(heavy & set(sys.modules))))\n"
        "main()\n"
    )
    words = [sys.executable, "-c", code, "simulate", str(scenario), "--out", "run", "--set", "seed=2"]
    said = subprocess.check_output(words, text=True)
    assert "goodput" in said and said.splitlines()[-1] == "imported []"


def test_congestion_controls_are_shown_within_the_terminal(place: Path) -> None:
    for name in ("bbr3", "cubic", "vegas"):
        lines = call("variants", name).splitlines()
        assert max(map(len, lines)) <= 80 and lines[0][0].isalpha()
        assert any(line.startswith("Deviations: ") for line in lines)


def test_simulate_prints_a_table_and_names_the_command_that_draws_the_report(
    place: Path, scenario: Path
) -> None:
    text = started("simulate", scenario)
    assert "goodput" in text and "runs/upload" in text
    assert max(map(len, text.split("\n"))) <= 80
    assert not (place / "runs/upload/report.html").exists()
    assert text.splitlines()[-1] == "report   bentpipe report runs/upload"
    call("report", "runs/upload")
    assert (place / "runs/upload/report.html").is_file()
    again = json.loads(call("simulate", scenario, "--json", "--seed", "7"))
    assert again["runs"][0]["path"] == "runs/upload-2" and again["report"] is None
    assert again["runs"][0]["seed"] == 7 and again["runs"][0]["flows"][0]["flow"] == "upload"


def test_names_are_printed_in_any_locale_and_to_closed_streams(place: Path) -> None:
    """Cases: a container without a locale, a terminal in Latin-1, and ``>&-``."""
    (place / "s.toml").write_text(
        'name = "Réseau 卫星"\nduration = "1 s"\n' + PAIR + flow("été", "a", "b"), encoding="utf-8"
    )
    for encoding, written, said in (
        ("ascii", "utf-8", "Réseau 卫星"),
        ("latin-1", "latin-1", "Réseau \\u536b\\u661f"),
    ):
        plain = os.environ | {"PYTHONUTF8": "0", "PYTHONIOENCODING": encoding, "COLUMNS": "80"}
        for words in (("check", "s.toml"), ("predict", "s.toml", "--json"), ("show", "s.toml")):
            done = subprocess.run(command(*words), capture_output=True, env=plain, timeout=120)
            assert (done.returncode, done.stderr) == (0, b"")
            text = done.stdout.decode(written)
            if words[0] == "check":
                assert said in text
            if "--json" in words:
                assert "été" in json.dumps(json.loads(text), ensure_ascii=False)
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command("check", "s.toml")]
    assert subprocess.run(closed, stderr=subprocess.PIPE, timeout=120).stderr == b""


def test_why_a_connection_failed_is_said_in_words(place: Path) -> None:
    (place / "broken.toml").write_text(
        'name = "broken"\nduration = "200 s"\npreset = "geo"\n'
        '[[flow]]\nname = "f"\nfrom = "user"\nto = "server"\napp = "bulk"\ntransport = "tcp"\n'
    )
    lost = "link.sat.error={ kind = 'packet', probability = 1.0 }"
    assert "failed   f: no answer to the handshake\n" in call(
        "simulate", "broken.toml", "--report", "--set", lost
    )
    assert "Failed: f: no answer to the handshake" in (place / "runs/broken/report.html").read_text()
    assert "failed" not in call("simulate", "broken.toml", "--no-report")
    reference = (ROOT / "docs/reference/results/reports.md").read_text()
    assert ", ".join(f"{number} {words}" for number, words in FAILURES.items()) in reference


def test_simulate_varies_values_in_all_combinations(place: Path, scenario: Path) -> None:
    text = call(
        "simulate",
        scenario,
        "--vary",
        "flow.upload.transport.congestion=reno,vegas",
        "--vary",
        'network.sat.return.dama={scheme="cra",cra="2048 kbit/s"},{scheme="rbdc"},{scheme="vbdc"}',
        "--out",
        "all",
    )
    assert max(map(len, text.split("\n"))) <= 80
    # In 80 columns the table is split into two parts, and each part names its rows.
    assert [text.count(word) for word in ("reno", "vegas", "rbdc")] == [6, 6, 4]
    assert sorted(folder.name for folder in (place / "all").iterdir()) == [
        "reno-cra",
        "reno-rbdc",
        "reno-vbdc",
        "vegas-cra",
        "vegas-rbdc",
        "vegas-vbdc",
    ]
    assert json.loads(call("report", "all", "--json"))["report"] == "all/report.html"
    assert "vegas-rbdc" in (place / "all/report.html").read_text()
    same = "network.sat.return.dama"
    tables = '{scheme="cra",cra="2048 kbit/s"},{scheme="cra",cra="1024 kbit/s"}'
    words = ("simulate", scenario, "--set", "duration=1 s", "--vary", f"{same}={tables}")
    assert "cra, 1024 kbit/s" in call(*words, "--out", "short")
    assert "half the rate" in call(*words, "--out", "named", "--label", f"{same}=as asked,half the rate")
    assert sorted(folder.name for folder in (place / "named").iterdir()) == ["as-asked", "half-the-rate"]
    assert "2 different labels" in call(*words, "--label", f"{same}=one", code=2)


def test_bad_input_is_a_message_and_exit_code_2(place: Path, scenario: Path) -> None:
    (place / "bad.toml").write_text("name = 1\nduration")
    (place / "full").mkdir()
    (place / "full" / "letter.txt").touch()
    for arguments in (
        ["simulate", "bad.toml"],
        ["simulate", "missing.toml"],
        ["simulate", scenario, "--out", "full"],
        ["simulate", scenario, "--vary", "nonsense"],
        ["check", place],
        ["predict", "missing.toml"],
        ["show", "missing.toml"],
        ["report", "full"],
        ["compare", "full", "full"],
        ["plot", "full"],
        ["new", "no-such-preset"],
        ["reproduce", "no-such-study"],
    ):
        assert call(*arguments, code=2).strip()
    assert not (place / "runs").exists()
    assert "bad.toml:2:9" in started("simulate", "bad.toml", code=2)
    assert json.loads(commands.run("check", "bad.toml", "--json").stdout)["valid"] is False


@pytest.mark.parametrize(
    "words, said",
    [
        (
            ("simulate", "upload.toml", "--seed", "1.5"),
            "1.5 is not a whole number; allowed: a whole number, at least 0",
        ),
        (
            ("simulate", "upload.toml", "--seed", "-1"),
            "-1 is out of range; allowed: a whole number, at least 0",
        ),
        (("plot", "run", "--at", "noon"), '--at "noon": not a time; allowed: a value such as "12.3s"'),
        (
            ("check", "upload.toml", "--set", "seed=1.5"),
            "seed = 1.5: is not a whole number; allowed: a whole",
        ),
        # The other folder, not the current one.
        (
            ("show", "upload.toml", "--out", ""),
            "'--out' / '-o': the value is empty; allowed: the name of a file or folder",
        ),
        (("check", ""), "'SCENARIO': the value is empty"),
        (("compare", "run", ""), "the value is empty"),
    ],
)
def test_values_are_refused_in_words(place: Path, scenario: Path, words: tuple[str, ...], said: str) -> None:
    done = commands.run(*words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split()), done.stderr


def test_check_show_predict_explain_without_running(place: Path, scenario: Path) -> None:
    assert "st1 -> gw" in started("check", scenario)
    assert json.loads(call("check", scenario, "--json"))["valid"] is True
    assert "dvb-rcs" in call("show", scenario)
    assert json.loads(call("show", scenario, "--json"))["name"] == "Upload"
    assert "upload" in call("predict", scenario)
    flow = json.loads(call("predict", scenario, "--set", "flow.upload.transport.congestion=vegas", "--json"))
    assert "Reno" in flow["flows"][0]["note"]


def test_compare_plot_and_report_read_runs(place: Path) -> None:
    write_run(place / "a")
    write_run(place / "b", congestion="vegas", speed=0.5)
    text = started("compare", "a", "b", "--out", "both")
    assert "flow.upload.transport.congestion" in text and "-50" in text
    assert max(map(len, text.split("\n"))) <= 80
    assert (place / "both" / "rtt.png").is_file()
    assert json.loads(call("compare", "a", "a", "--json", "--figure", "none"))["equal"] is True
    assert json.loads(call("plot", "a", "--json"))["figures"] == ["a/figures/overview.png"]
    assert call("plot", "a", "b", "--figure", "rtt", "--format", "svg").strip().endswith("rtt.svg")
    assert json.loads(call("report", "a", "b", "--out", "page.html", "--json"))["report"] == "page.html"
    for words in (("plot", "a"), ("compare", "a", "b")):
        refused = " ".join(call(*words, "--out", "rtt.PNG", code=2).split())
        assert (
            "--out rtt.PNG: figures are written into a folder" in refused and "allowed: a folder" in refused
        )


def test_new_writes_a_scenario_that_can_be_checked(place: Path) -> None:
    name = json.loads(call("new", "--json"))[0]["name"]
    call("new", name, "--out", "mine.toml")
    call("check", "mine.toml")
    assert "was not changed" in call("new", name, "--out", "mine.toml", code=2)
    # As with `bentpipe run`, an unambiguous prefix of the name is sufficient.
    call("new", "atm")
    assert 'preset = "atm-tdma"' in (place / "atm-tdma.toml").read_text(encoding="utf-8")
    assert "it matches access-leo or access-leo-isl" in call("new", "access", code=2)


def test_new_redirected_into_its_own_file_fills_it_and_into_another_says_so(place: Path) -> None:
    def redirected(name: str) -> str:
        with (place / name).open("w") as file:
            said = subprocess.run(command("new", "mars"), stdout=file, stderr=subprocess.PIPE, text=True)
        assert said.returncode == 0, said.stderr
        return said.stderr

    # The shell has created the empty mars.toml before bentpipe starts.
    assert "already exists" not in redirected("mars.toml")
    call("check", "mars.toml")
    (place / "mars.toml").unlink()
    # In a log, which is not a terminal, the note would be noise.
    assert "standard output is empty" not in redirected("other.toml")
    (place / "mars.toml").unlink()
    end, terminal = os.openpty()
    with (place / "other.toml").open("w") as file:
        subprocess.run(command("new", "mars"), stdout=file, stderr=terminal, check=True)
    os.close(terminal)
    said = os.read(end, 4096).decode()
    os.close(end)
    assert "written  mars.toml" in said and "standard output is empty; use --out -" in said
    assert (place / "other.toml").stat().st_size == 0 and 'preset = "mars"' in (
        place / "mars.toml"
    ).read_text()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_run_is_readable_and_marked(place: Path, scenario: Path, number: int, code: int) -> None:
    long = ["--set", "duration=30 d", "--set", "record.traces=[]"]
    process = subprocess.Popen(
        command("simulate", scenario, "--out", "stopped", *long), stderr=subprocess.PIPE, text=True
    )
    file, limit = place / "stopped" / "provenance.json", time.monotonic() + 60
    while not file.exists() and time.monotonic() < limit:
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert json.loads(file.read_text())["status"] == "incomplete"


def test_a_run_says_how_many_packets_were_dropped_why_and_where(place: Path) -> None:
    """The order and parts of `drops` in summary.json: by reason, most frequent first, with the
    parts of the network."""
    text = "[[flow]]\nname = 'F'\nfrom = 'user'\nto = 'server'\ntransport = 'udp'\n"
    app = "app = { kind = 'cbr', rate = '20 Mbit/s', datagram = '1000 B' }\n"
    (place / "full.toml").write_text(f"name = 'full'\nduration = '2 s'\npreset = 'geo'\n{text}{app}")
    said = call("simulate", "full.toml", "--no-report", "--out", "full")
    (drop,) = json.loads((place / "full" / "summary.json").read_text())["drops"]
    assert drop["packets"] > 1
    assert f"dropped  {drop['packets']} packets: {drop['reason']} ({drop['stage']})\n" in said
    said = call("simulate", "full.toml", "--no-report", "--out", "both", "--vary", "duration=20 ms,2 s")
    assert said.count("dropped") == 1 and f"dropped  2 s, {drop['packets']} packets: " in said


@pytest.mark.parametrize("module", ["typer", "bentpipe.cli.check"])
def test_ctrl_c_while_the_program_starts_prints_no_traceback(place: Path, module: str) -> None:
    interrupted = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == '{module}': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    words = [sys.executable, "-c", interrupted + START, "check", "a.toml"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    # A shell reports 130.
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_results_are_printed_before_the_report_is_drawn(
    place: Path, scenario: Path, form: list[str]
) -> None:
    slow = (
        "import time, bentpipe.report\n"
        "def page(*_, **__): print('drawing', flush=True); time.sleep(60)\n"
        "bentpipe.report.page = page\n"
    )
    words = [
        sys.executable,
        "-c",
        slow + START,
        "simulate",
        str(scenario),
        "--out",
        "drawn",
        "--report",
        *form,
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        said = list(iter(process.stdout.readline, "drawing\n"))
        process.send_signal(signal.SIGINT)
        error = process.stderr.read()
        assert process.wait(60) == 130, error
    if form:
        document = json.loads("".join(said))
        assert document["report"] == "drawn/report.html" and document["runs"][0]["flows"]
    else:
        assert any("kbit/s" in line for line in said) and said[-1] == "results  drawn\n", said
    assert error == "interrupted: the results in drawn are complete, but no report was written\n"
    assert json.loads((place / "drawn" / "provenance.json").read_text())["status"] == "complete"


def test_reproduce_runs_a_study_and_prints_verdicts(place: Path) -> None:
    study = place / "studies" / "small"
    study.mkdir(parents=True)
    (study / "published.csv").write_text(
        "id,test,text,relation,value,unit,tolerance,source,deviation\n"
        "a,T_I,goodput reached,about,1000,kbit/s,10 %,p. 3,\n"
        "b,T_I,delay,at most,500,ms,0,p. 4,our clock differs\n"
    )
    (study / "study.py").write_text(
        "from pathlib import Path\n"
        "from bentpipe.studies import Reproduction, judge, read_published\n"
        "def reproduce(test, out, json):\n"
        "    file = Path(__file__).parent / 'published.csv'\n"
        "    return Reproduction(judge(read_published(file, test), {'a': 1050.0, 'b': 501.0}))\n"
    )
    text = started("reproduce", "small", "--test", "T_I")
    assert "1 of 2 claims of the paper hold" in text and "our clock differs" in text
    assert json.loads(call("reproduce", "small", "--json"))["successful"] is True
    assert "T_9" in call("reproduce", "small", "--test", "T_9", code=2)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_study_says_so_and_resumes_from_its_complete_runs(
    place: Path, scenario: Path, number: int, code: int
) -> None:
    study = place / "studies" / "long"
    study.mkdir(parents=True)
    (study / "study.py").write_text(
        "from pathlib import Path\n"
        "from bentpipe.campaign.jobs import Job, run_all\n"
        "from bentpipe.studies import Reproduction, bar\n"
        "TESTS = ('long',)\n"
        "def reproduce(test, out, json):\n"
        "    jobs = [\n"
        f"        Job(one, Path({str(scenario)!r}), (f'duration={{one}}', 'record.traces=[]'))\n"
        "        for one in Path('durations').read_text().split()\n"
        "    ]\n"
        "    with bar('long', shown=not json) as progress:\n"
        "        run_all(jobs, out / 'runs', progress)\n"
        "    return Reproduction([])\n"
    )
    (place / "durations").write_text("2s 900d")
    runs = place / "runs" / "long" / "runs"
    with subprocess.Popen(command("reproduce", "long"), stderr=subprocess.PIPE, text=True) as process:
        limit = time.monotonic() + 60
        while not ((runs / "2s" / NOTE).exists() and (runs / "900d" / "provenance.json").exists()):
            assert process.poll() is None and time.monotonic() < limit
            time.sleep(0.05)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    message = "interrupted; complete runs are in runs/long; repeat the command to resume"
    assert " ".join(said.split()) == message
    assert json.loads((runs / "900d" / "provenance.json").read_text())["status"] == "incomplete"
    assert not (runs / "900d" / NOTE).exists()
    kept = (runs / "2s" / "provenance.json").stat().st_mtime_ns
    (place / "durations").write_text("2s 3s")
    call("reproduce", "long")
    assert (runs / "2s" / "provenance.json").stat().st_mtime_ns == kept and (runs / "3s" / NOTE).exists()


def test_a_call_is_rated_as_json_and_in_a_table_that_fits(place: Path) -> None:
    options = (
        "voice",
        "emodel",
        "--codec",
        "g.729a",
        "--set",
        "T=150",
        "--set",
        "Ta=150",
        "--set",
        "Tr=300",
        "--set",
        "Ppl=2",
    )
    said = json.loads(call(*options, "--json"))
    assert said["R"] == pytest.approx(70.54, abs=0.005)
    assert said["MOS"] == pytest.approx(3.62, abs=0.005)
    assert {"Ro", "Is", "Idte", "Idle", "Idd", "Id", "Ieeff"} <= said.keys()
    table = call(*options, "--set", "A=20")
    assert "90.54" in table and "without the advantage factor" in table and "70.54" in table
    assert max(map(len, table.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--codec", "G.729B"), 'unknown codec "G.729B", did you mean "G.729A"?'),
        (("--set", "Tx=3"), 'unknown symbol "Tx"'),
        (("--set", "Ppl=120"), "Ppl = 120 is not allowed; allowed: 0 to 100"),
        (("--set", "Bpl=0"), "Bpl = 0 is not allowed"),
        (("--set", "Ta=nan"), "Ta = NaN is not allowed; allowed: 0 and above"),
        (("--set", "Ta"), '--set "Ta": expected SYMBOL=VALUE'),
        (("--set", "Ta=long"), "a number after the equals sign"),
    ],
)
def test_a_call_that_cannot_be_rated_is_refused_with_the_reason(
    place: Path, options: tuple[str, ...], message: str
) -> None:
    assert message in " ".join(call("voice", "emodel", *options, code=2).split())
