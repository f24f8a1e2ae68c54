"""Exports of a scenario's path to other tools that impose rate, delay and loss.

A tool is a file of this folder with a function ``files``, which returns the texts of the exported
files by name. Each file names the losses of fidelity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bentpipe.errors import unknown

from . import (
    containerlab,
    devtools,
    leoreplayer,
    mahimahi,
    netem,
    netlab,
    netsatbench,
    quic_network_simulator,
    toxiproxy,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .course import Course

#: The tools by name.
TOOLS: Final[dict[str, Callable[[Course], dict[str, str]]]] = {
    "netem": netem.files,
    "mahimahi": mahimahi.files,
    "containerlab": containerlab.files,
    "netlab": netlab.files,
    "toxiproxy": toxiproxy.files,
    "quic-network-simulator": quic_network_simulator.files,
    "leoreplayer": leoreplayer.files,
    "netsatbench": netsatbench.files,
    "devtools": devtools.files,
}


def export(course: Course, tool: str, folder: Path) -> list[Path]:
    """Writes the files of a tool into a folder. Returns their paths.

    Raises :class:`bentpipe.InputError` for an unknown tool.
    """
    if tool not in TOOLS:
        raise unknown("tool", tool, TOOLS)
    written = []
    for name, text in TOOLS[tool](course).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        written.append(file)
    return written
