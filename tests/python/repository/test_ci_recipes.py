"""The recipes of docs/how-to/ci.md for continuous integration: the files are valid, and their
commands run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import ROOT
from rigs.networks import needs, networks

PAGE = (ROOT / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
RECIPES = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
TEST = re.findall(r"```python\n# test_page.py\n(.*?)```", PAGE, re.DOTALL)[0]

#: Commands that prepare a runner: they change the machine, or install what this checkout has.
PREPARES = ("sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0", "pip install wheels/")


#: The command that runs the tests. Its case without a failure is a block of the page.
PYTEST = "pytest -m bentpipe"


def github() -> list[dict[str, Any]]:
    """Returns the steps of GitHub's recipe. `on` is a truth value of YAML 1.1."""
    assert set(RECIPES[0]) == {"name", True, "jobs"}
    (job,) = RECIPES[0]["jobs"].values()
    assert set(job) == {"runs-on", "steps"}
    steps: list[dict[str, Any]] = job["steps"]
    return steps


def commands() -> list[str]:
    """Returns the commands of all recipes, each once."""
    (job,) = RECIPES[2].values()
    lines = [step["run"] for step in (*github(), *RECIPES[1]) if "run" in step] + job["script"]
    return list(dict.fromkeys(lines))


def test_each_step_has_the_keys_of_its_service() -> None:
    """Keys from the workflow syntax of GitHub Actions, and from GitLab's reference of CI files."""
    for step in github():
        assert set(step) <= {"name", "uses", "with", "run", "if", "env"}
        assert ("run" in step) != ("uses" in step)
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])
    (job,) = RECIPES[2].values()
    assert set(job) == {"image", "script", "artifacts"}
    assert job["artifacts"] == {
        "when": "always",
        "paths": ["bentpipe-artifacts/"],
        "reports": {"junit": "junit.xml"},
    }
    upload = github()[-1]
    assert upload["if"] == "always()" and upload["with"]["path"].split() == [
        "junit.xml",
        "bentpipe-artifacts/",
    ]


def ran(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command of a recipe as a runner does, with this checkout's programs."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("BENTPIPE_", "PYTEST_"))
    }
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    # Other plug-ins of this environment would only take time.
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "bentpipe.pytest_plugin"}
    environment = (
        kept | plugins | {"BENTPIPE_STATE": str(folder / "state"), "PATH": programs, "HOME": str(folder)}
    )
    return subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@networks
@needs("ping", "python3")
@pytest.mark.parametrize("command", [one for one in commands() if not one.startswith((*PREPARES, PYTEST))])
def test_a_command_of_the_recipes_succeeds(command: str, tmp_path: Path) -> None:
    done = ran(command, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@networks
@needs("python3")
@pytest.mark.parametrize("option", ["", " --bentpipe-simulated"])
def test_a_failed_test_leaves_report_counters_and_capture(option: str, tmp_path: Path) -> None:
    failing = TEST.replace("assert time.monotonic() - begin < 10", "assert time.monotonic() - begin < 0")
    assert failing != TEST
    (tmp_path / "test_page.py").write_text(failing)
    (command,) = (one for one in commands() if one.startswith(PYTEST))
    done = ran(command + option, tmp_path)
    path = "simulated path: the option --bentpipe-simulated is set" if option else "emulated network"
    assert done.returncode == 1 and f"bentpipe: {path} (1 test)" in done.stdout, done.stdout + done.stderr
    (folder,) = (tmp_path / "bentpipe-artifacts").iterdir()
    files = {file.name: file for file in folder.iterdir()}
    wanted = {"report.md", "counters.json"} | (set() if option else {"capture.pcap"})
    assert set(files) == wanted
    report = files["report.md"].read_text()
    assert "Scenario: consumer-geo-ka" in report and "assert" in report
    case = ElementTree.parse(tmp_path / "junit.xml").find(".//testcase")
    assert case is not None
    properties = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert properties["bentpipe path"] == path
    assert properties["bentpipe artifacts"] == str(folder.relative_to(tmp_path))
    output = case.findtext("system-out") or ""
    assert all(f"[[ATTACHMENT|{file.relative_to(tmp_path)}]]" in output for file in files.values()), output
    if not option:
        # The capture has whole packets of the page: each record says how many bytes follow.
        data = files["capture.pcap"].read_bytes()
        at, packets = 24, 0
        while at + 16 <= len(data):
            kept = int.from_bytes(data[at + 8 : at + 12], "little")
            assert data[at + 16] >> 4 in (4, 6)
            at, packets = at + 16 + kept, packets + 1
        assert packets > 6
