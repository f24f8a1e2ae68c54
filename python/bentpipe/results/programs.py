"""Texts about how the programs of an emulation ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runs import Run


def command_texts(run: Run) -> list[str]:
    """Returns a sentence per program that failed: its name, its host, how it failed, and where its output is."""
    commands = run.provenance.get("notes", {}).get("commands", [])
    return [
        f'{about["outcome"]}: "{about["flow"]}" at host "{about["host"]}", see {run.path / about["stderr"]}'
        for about in commands
        # A server is not expected to end by itself.
        if about["exit_code"] != 0 and not (about["serves"] and about["outcome"] == "ended with the run")
    ]
