"""The stacks of a matrix: implementations of QUIC, each with a client and a server of ours.

A stack is a folder with the description ``stack.toml`` and the programs. The description has

- ``package``, ``version``, ``registry`` and ``language`` of the implementation,
- ``congestion`` and ``windows``: its congestion control and the flow-control windows of its client,
- ``build``: commands that build the programs in a copy of the folder, with the placeholders
  ``{version}``, ``{python}`` (this interpreter) and ``{shared}`` (a folder that stacks share),
- ``lock``: the file of this copy that contains the versions of all dependencies,
- ``server`` and ``client``: the programs as in the app ``command`` of scenarios, with the
  placeholders ``{folder}`` (the copy), ``{cert}``, ``{key}`` (files in PEM) and ``{bytes}``.

An optional key ``unsuited`` gives the reason why a stack cannot run in virtual time.

The client prints one line of JSON with ``handshake_s``, ``completion_s`` and ``bytes``. The server
may print a line with ``lost_packets``.
"""

from __future__ import annotations

import hashlib
import shlex
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bentpipe.errors import InputError, text_of, unknown

FOLDER: Final = Path(__file__).with_name("stacks")
DESCRIPTION: Final = "stack.toml"

#: The keys of a description, and the type of their values.
_KEYS: Final[dict[str, type]] = {
    **dict.fromkeys(("package", "version", "registry", "language", "congestion", "windows"), str),
    "build": list,
    **dict.fromkeys(("lock", "server", "client"), str),
}


@dataclass(frozen=True)
class Stack:
    """A stack; see the description of this module."""

    name: str
    folder: Path
    about: str
    package: str
    version: str
    registry: str
    language: str
    congestion: str
    windows: str
    build: list[list[str]]
    lock: str
    server: str
    client: str
    unsuited: str = ""

    @property
    def hash(self) -> str:
        """A hash over the files of the folder."""
        digest = hashlib.sha256()
        for file in sorted(file for file in self.folder.rglob("*") if file.is_file()):
            digest.update(f"{file.relative_to(self.folder)}\0".encode() + file.read_bytes() + b"\0")
        return digest.hexdigest()[:16]

    def command(self, role: str, folder: Path, **places: Any) -> str:
        """Returns the command of the ``server`` or the ``client`` for the app ``command``, for
        programs in ``folder``."""
        command: str = getattr(self, role)
        for place, value in {"folder": folder, **places}.items():
            # A scenario splits words as a shell does, and writes braces twice.
            quoted = shlex.quote(str(value)).replace("{", "{{").replace("}", "}}")
            command = command.replace(f"{{{place}}}", quoted)
        return command


def stacks(folder: Path = FOLDER) -> dict[str, Stack]:
    """Returns the stacks of a folder by name. Raises :class:`bentpipe.InputError` for a wrong
    description."""
    found = {file.parent.name: file for file in sorted(folder.glob(f"*/{DESCRIPTION}"))}
    if not found:
        raise InputError(
            f"{folder} has no stacks; allowed: a folder with a file NAME/{DESCRIPTION} per stack"
        )
    return {name: _stack(file) for name, file in found.items()}


def chosen(names: Iterable[str], known: dict[str, Stack]) -> list[Stack]:
    """Returns the named stacks, or all without a name. Raises :class:`bentpipe.InputError` for an
    unknown name."""
    for name in names:
        if name not in known:
            raise unknown("stack", name, known)
    return [known[name] for name in dict.fromkeys(names) or known]


def _stack(file: Path) -> Stack:
    text = text_of(file)
    try:
        keys = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file} is not TOML: {error}") from error
    optional = {"unsuited": str}
    for key in keys:
        if key not in _KEYS | optional:
            raise InputError(f"{file}: {unknown('key', key, _KEYS | optional)}")
    for key, kind in (_KEYS | {key: optional[key] for key in optional if key in keys}).items():
        if not isinstance(keys.get(key), kind):
            allowed = "text" if kind is str else "a list of commands, each a list of words"
            raise InputError(f"{file}: {key} = {keys.get(key)!r}; allowed: {allowed}")
    about = text.partition("\n")[0].removeprefix("# ")
    return Stack(name=file.parent.name, folder=file.parent, about=about, **keys)
