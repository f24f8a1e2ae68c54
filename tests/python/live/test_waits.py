"""Waits for other processes end by themselves, with a reason."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

import pytest
from bentpipe.guest import build
from bentpipe.live import daemon, forwarding, state
from bentpipe.live.target import target


def script(file: Path, text: str) -> Path:
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_for_another_process_that_holds_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(state.FOLDER_VARIABLE, str(tmp_path / "state"))
    monkeypatch.setattr(state, "_LIMIT_S", 0.2)
    with (state.folder() / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with (
            pytest.raises(OSError, match="another bentpipe process has locked .*lock for 0.2 s"),
            state.locked(),
        ):
            pass
    with state.locked():
        pass


def test_for_a_network_that_does_not_come_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    number = tmp_path / "number"
    # This process reads its input, prints nothing, and ignores termination signals, as while it
    # blocks signals.
    never = script(tmp_path / "never", f"trap '' TERM\necho $$ >{number}\nwhile :; do sleep 0.05; done")
    monkeypatch.setattr(sys, "executable", str(never))
    monkeypatch.setattr(daemon, "_LIMIT_S", 1.0)
    monkeypatch.setattr(daemon, "_GRACE_S", 0.2)
    with pytest.raises(OSError, match="was not up after 1 s"):
        daemon.start(target("geo"), name=None, internet=False, elsewhere={})
    with pytest.raises(ProcessLookupError):
        os.kill(int(number.read_text()), 0)


def test_for_an_nft_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "nft", "exec sleep 60")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(forwarding, "_LIMIT_S", 0.2)
    with pytest.raises(OSError, match=r"nft did not answer for 0\.2 s"):
        forwarding._exists("bentpipe-test")


def test_for_another_build_of_the_kernel_can_be_ended(tmp_path: Path) -> None:
    told = []

    def tell(fraction: float, doing: str) -> bool:
        told.append(doing)
        return len(told) < 2

    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(build.BuildStopped), build._build_lock(tmp_path / "lock", tell):
            pass
    assert told == ["waiting for another process that builds this kernel"] * 2
    with build._build_lock(tmp_path / "lock", tell):
        pass
