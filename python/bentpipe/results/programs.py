"""Texts about failed programs of an emulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runs import Run


def command_texts(run: Run) -> list[str]:
    """Returns a sentence per failed program: its name, its host, the failure, and the location of
    its output."""
    commands = run.provenance.get("notes", {}).get("commands", [])
    return [
        f'{about["outcome"]}: "{about["flow"]}" at host "{about["host"]}", see {run.path / about["stderr"]}'
        for about in commands
        # A server normally does not end by itself.
        if about["exit_code"] != 0 and not (about["serves"] and about["outcome"] == "ended with the run")
    ]
