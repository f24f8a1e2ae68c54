"""Texts about how the programs of an emulation ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runs import Run


def command_texts(run: Run) -> list[str]:
    """One sentence per program that failed: which, where, how, and where its output is."""
    commands = run.provenance.get("notes", {}).get("commands", [])
    return [
        f'{about["outcome"]}: "{about["flow"]}" at host "{about["host"]}", see {run.path / about["stderr"]}'
        for about in commands
        # A server need not end by itself.
        if about["exit_code"] != 0 and not (about["serves"] and about["outcome"] == "ended with the run")
    ]
