"""Completion on the command line, through the shell's protocol, and the help in groups."""

from __future__ import annotations

import os

import pytest
from rigs import commands


def completed(words: str) -> list[str]:
    """Returns the completions that bash would offer for the last word."""
    asked = {
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_BENTPIPE_COMPLETE": "complete_bash",
    }
    done = commands.run(environment=os.environ | asked)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("bentpipe simul", ["simulate"]),
        ("bentpipe emo", []),
        ("bentpipe voice e", ["emodel"]),
        ("bentpipe space contacts ro", ["route"]),
        ("bentpipe net watch --o", ["--once"]),
        ("bentpipe run geo-k", ["geo-ka"]),
        ("bentpipe new geo-k", ["geo-ka"]),
        (
            "bentpipe simulate examples/dvb-rcs-upload.toml --set flow.upload.transport.con",
            ["flow.upload.transport.congestion="],
        ),
        (
            "bentpipe simulate examples/dvb-rcs-upload.toml --set flow.upload.transport.congestion=",
            ["flow.upload.transport.congestion=reno"],
        ),
        ("bentpipe net up geo-ka --set link.sat.queue.k", ["link.sat.queue.kind="]),
        ("bentpipe simulate nowhere.toml --set flow", []),
    ],
)
def test_the_shell_is_offered_commands_presets_and_keys(words: str, offered: list[str]) -> None:
    """The shell offers commands, presets and the keys of the preceding scenario; nothing for an
    unreadable scenario."""
    assert completed(words) == offered


def test_every_command_stands_in_one_group_with_a_whole_sentence() -> None:
    """No line of the list of commands is truncated at 80 columns."""
    shown = commands.run("--help", environment=os.environ | {"COLUMNS": "80"})
    assert shown.returncode == 0
    assert "..." not in shown.stdout.partition("Options:")[2]
    assert "Describe a network:" in shown.stdout
    assert "Commands:" not in shown.stdout
