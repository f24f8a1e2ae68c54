"""Containerfile, compose files and development container agree with each other and with the
commands. `tests/packages/test_container.py` uses them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import ROOT
from rigs import commands

CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")
COMPOSE = [ROOT / "compose.yaml", ROOT / "compose.postgresql.yaml"]


def stages() -> dict[str, str]:
    """Returns the named stages with the image or stage on which each is based."""
    found = re.findall(r"^FROM (\S+) AS (\S+)$", CONTAINERFILE, re.MULTILINE)
    return {name: base for base, name in found}


def services(*files: Path) -> dict[str, dict[str, Any]]:
    """Returns the services of compose files, later files added to earlier ones."""
    merged: dict[str, dict[str, Any]] = {}
    for file in files:
        for name, keys in yaml.safe_load(file.read_text(encoding="utf-8"))["services"].items():
            service = merged.setdefault(name, {"volumes": [], "depends_on": []})
            for key, value in keys.items():
                service[key] = [*service[key], *value] if key in ("volumes", "depends_on") else value
    return merged


def test_the_last_stage_has_only_the_debian_package() -> None:
    assert stages() == {
        "node": "node:22-bookworm-slim",
        "tools": "rust:1.95-bookworm",
        "package": "tools",
    }
    last = CONTAINERFILE.rpartition("\nFROM ")[2]
    assert last.startswith("debian:bookworm-slim\nCOPY --from=package /bentpipe/dist/bentpipe_*.deb")
    assert last.count("COPY") == 1 and "USER bentpipe" in last
    assert re.search(r"^deb: ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_compiler_is_the_one_of_continuous_integration() -> None:
    assert f"image: {stages()['tools']}" in (ROOT / ".gitlab-ci.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("files", [COMPOSE[:1], COMPOSE], ids=["a file", "PostgreSQL"])
def test_the_services_use_options_and_volumes_that_exist(files: list[Path]) -> None:
    known = commands.run("serve", "--help").stdout
    volumes = {name for file in files for name in yaml.safe_load(file.read_text(encoding="utf-8"))["volumes"]}
    merged = services(*files)
    for name in ("web", "executor"):
        command, *options = merged[name]["command"]
        assert command == "serve"
        for option in options:
            assert f"{option.partition('=')[0]} " in known, option
        assert f"--part={name}" in options
    for name, service in merged.items():
        assert set(service["depends_on"]) <= set(merged)
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source in volumes or (ROOT / source).is_file(), volume
        # Only the proxy reaches other machines.
        assert (service.get("networks") == ["closed"]) == (name != "proxy")


def test_no_secret_is_in_git_or_in_the_image() -> None:
    assert "/secrets/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "secrets" in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    merged = services(*COMPOSE)
    assert [name for name, service in merged.items() if "secrets" in service] == ["proxy"]
    assert not any("PASSWORD" in key for one in merged.values() for key in one.get("environment", {}))


def test_the_development_container_uses_a_stage_and_targets_that_exist() -> None:
    place = ROOT / ".devcontainer/devcontainer.json"
    # The format permits comments.
    text = re.sub(r"^\s*//.*$", "", place.read_text(encoding="utf-8"), flags=re.MULTILINE)
    read = json.loads(text)
    assert set(read) == {
        *("name", "build", "privileged", "onCreateCommand", "postCreateCommand"),
        *("forwardPorts", "portsAttributes", "customizations"),
    }
    build = read["build"]
    assert (place.parent / build["dockerfile"]).resolve() == ROOT / "Containerfile"
    assert (place.parent / build["context"]).resolve() == ROOT
    assert build["target"] in stages()
    assert read["postCreateCommand"].split()[:2] == ["make", "build"]
    assert read["forwardPorts"] == [int(port) for port in read["portsAttributes"]] == [8470]
