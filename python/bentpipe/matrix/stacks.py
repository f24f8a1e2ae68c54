"""The stacks of a matrix: implementations of QUIC, each with a client and a server of ours.

A stack is a folder with the description ``stack.toml`` and the programs. The description has

- ``package``, ``version``, ``registry`` and ``language`` of the implementation,
- ``congestion`` and ``windows``: its congestion control and the flow-control windows of its client,
- ``build``: commands that build the programs in a copy of the folder, with the placeholders
  ``{version}``, ``{python}`` (this interpreter) and ``{shared}`` (a folder that stacks share),
- ``lock``: the file of this copy that contains the versions of all dependencies,
- ``server`` and ``client``: the programs as in the app ``command`` of scenarios, with the
  placeholders ``{folder}`` (the copy), ``{cert}``, ``{key}`` (files in PEM) and ``{bytes}``: the
  sizes of the streams, such as ``1048576`` or ``40000,40000``. The client requests the first
  stream, and when it has arrived, all others together.

Optional keys:

- ``protocol``: the application protocol, by default ``transfer``; cells join a client and a
  server with the same protocol,
- ``controls``: the congestion controls that the server accepts as ``--congestion NAME``,
- ``unsuited``: the reason why a stack cannot run in virtual time.

The client prints one line of JSON with ``handshake_s``, ``completion_s`` and ``bytes``. The server
may print a line with ``lost_packets``.
"""

from __future__ import annotations

import hashlib
import shlex
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
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
_OPTIONAL: Final[dict[str, type]] = {"protocol": str, "controls": list, "unsuited": str}
#: The allowed values by type, in words.
_ALLOWED: Final[dict[type, str]] = {str: "text", list: "a list"}


@dataclass(frozen=True)
class Stack:
    """A stack; see the description of this module. ``control`` is the congestion control that was
    chosen for the server, or empty for the default of the library."""

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
    protocol: str = "transfer"
    controls: list[str] = field(default_factory=list)
    unsuited: str = ""
    control: str = ""

    @property
    def label(self) -> str:
        """The name in tables, with the chosen control: ``quinn:bbr``."""
        return f"{self.name}:{self.control}" if self.control else self.name

    def with_control(self, control: str) -> Stack:
        """Returns the stack with a server that uses a congestion control. Raises
        :class:`bentpipe.InputError` if the stack does not offer it."""
        if control not in self.controls:
            raise unknown(f"congestion control of {self.name}", control, self.controls or ["none"])
        server = f"{self.server} --congestion {control}"
        return replace(self, control=control, congestion=control, server=server)

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
    """Returns the named stacks, or all without a name. ``NAME:CONTROL`` names a stack with a
    congestion control. Raises :class:`bentpipe.InputError` for an unknown name."""
    return [_named(name, known) for name in dict.fromkeys(names) or known]


def _named(text: str, known: dict[str, Stack]) -> Stack:
    name, colon, control = text.partition(":")
    if name not in known:
        raise unknown("stack", name, known)
    return known[name].with_control(control) if colon else known[name]


def _stack(file: Path) -> Stack:
    text = text_of(file)
    try:
        keys = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file} is not TOML: {error}") from error
    for key in keys:
        if key not in _KEYS | _OPTIONAL:
            raise InputError(f"{file}: {unknown('key', key, _KEYS | _OPTIONAL)}")
    for key, kind in (_KEYS | {key: _OPTIONAL[key] for key in _OPTIONAL if key in keys}).items():
        if not isinstance(keys.get(key), kind):
            raise InputError(f"{file}: {key} = {keys.get(key)!r}; allowed: {_ALLOWED[kind]}")
    about = text.partition("\n")[0].removeprefix("# ")
    return Stack(name=file.parent.name, folder=file.parent, about=about, **keys)
