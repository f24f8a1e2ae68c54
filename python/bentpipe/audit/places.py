"""The two ends of an audited network: network namespaces, hosts of an emulated network, or the
shell of an emulator's command."""

from __future__ import annotations

import contextlib
import json
import pickle
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from bentpipe.errors import InputError

from .observing import Observation

#: Folder of named network namespaces (ip-netns(8)).
NAMED: Final = Path("/run/netns")
#: Words that start this program's command line.
_COMMANDS: Final = (sys.executable, "-c", "from bentpipe.cli import main; main()")
#: Time between two looks at a running measurement, in seconds.
_LOOK_S: Final = 0.1
#: Characters of an emulator's output that a message quotes.
_QUOTED: Final = 400


@dataclass(frozen=True)
class Request:
    """A measurement: promises as text, duration and seed as in :func:`.observing.observe`, and port
    and address of the reflector; None for an address to be found."""

    promise: str
    duration: float
    seed: int
    port: int
    address: str | None = None


def entered(place: str) -> list[str]:
    """Returns the words that run a command in a network namespace: its name, its path, the number
    of a process in it, or NETWORK/HOST for a host of a network of ``bentpipe net``.

    Raises :class:`bentpipe.InputError`.
    """
    if place.isdigit():
        path = Path(f"/proc/{place}/ns/net")
    elif place.startswith(("/", ".")):
        path = Path(place)
    else:
        path = NAMED / place
    network, slash, host = place.partition("/")
    if slash and network and host and not path.exists():
        return [*_COMMANDS, "net", "exec", network, host, "--"]
    if not path.exists():
        names = sorted(one.name for one in NAMED.iterdir()) if NAMED.is_dir() else []
        raise InputError(
            f'--namespaces: no namespace "{place}"; allowed: a name ({", ".join(names) or "there is none"}), '
            "a path, the number of a process, or NETWORK/HOST of a network of `bentpipe net`"
        )
    return ["nsenter", f"--net={path}", "--"]


def between(here: str, there: str, request: Request, advance: Callable[[float], bool]) -> Observation:
    """Measures from one namespace to another. Raises :class:`bentpipe.InputError`."""
    for needed in ("ip", "nsenter"):
        if shutil.which(needed) is None:
            raise InputError(f"--namespaces: the program {needed} is not installed")
    near, far = entered(here), entered(there)
    address = request.address or _address(near, far, there)
    with _folder(request, address) as folder, _reflector(far, folder, request.port, "::"):
        program = [*near, sys.executable, "-m", "bentpipe.audit.inside", str(folder)]
        with (folder / "output").open("w", encoding="utf-8") as output:
            process = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            return _observed(process, folder, shlex.join(near), advance)


def within(command: Sequence[str], request: Request, advance: Callable[[float], bool]) -> Observation:
    """Measures from the shell that a command opens to this host. Raises
    :class:`bentpipe.InputError`."""
    # Replies come from this address only if the reflector listens at it alone.
    address = request.address or _own_address()
    with _folder(request, address) as folder, _reflector([], folder, request.port, address or "::"):
        line = shlex.join([sys.executable, "-m", "bentpipe.audit.inside", str(folder)])
        # A shell such as bash on a pipe reads its commands from there.
        (folder / "input").write_text(f"{line}\nexit\n", encoding="utf-8")
        with (
            (folder / "output").open("w", encoding="utf-8") as output,
            (folder / "input").open(encoding="utf-8") as lines,
        ):
            try:
                process = subprocess.Popen(list(command), stdin=lines, stdout=output, stderr=output)
            except OSError as error:
                raise InputError(f"{command[0]}: {error.strerror or error}") from None
            return _observed(process, folder, shlex.join(command), advance)


@contextlib.contextmanager
def _folder(request: Request, address: str | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="bentpipe-audit-") as name:
        folder = Path(name)
        (folder / "key").write_bytes(secrets.token_hex(16).encode())
        asked = {
            "address": address,
            "port": request.port,
            "promise": request.promise,
            "duration": request.duration,
            "seed": request.seed,
        }
        (folder / "request.json").write_text(json.dumps(asked), encoding="utf-8")
        yield folder


@contextlib.contextmanager
def _reflector(far: Sequence[str], folder: Path, port: int, address: str) -> Iterator[None]:
    """Runs a reflector, from when it listens."""
    key = str(folder / "key")
    words = [*far, *_COMMANDS, "reflect", "--key", key, "--port", str(port), "--address", address]
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        said = process.stderr
        assert said is not None
        if "listening" not in (line := said.readline()):
            raise InputError(f"the reflector did not start: {(line + said.read()).strip()[-_QUOTED:]}")
        yield
    finally:
        _end(process, process.stderr)


def _observed(
    process: subprocess.Popen[bytes], folder: Path, name: str, advance: Callable[[float], bool]
) -> Observation:
    """Waits for the measurement of the program inside. Raises :class:`bentpipe.InputError`."""
    done, found, trouble = 0.0, folder / "observation", folder / "trouble"
    try:
        while process.poll() is None and not (found.exists() or trouble.exists()):
            with contextlib.suppress(OSError, ValueError):
                done = float((folder / "progress").read_text(encoding="utf-8"))
            if not advance(done):
                (folder / "stop").touch()
            time.sleep(_LOOK_S)
    finally:
        if process.poll() is None and not (found.exists() or trouble.exists()):
            _end(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    _end(process)
    if trouble.exists():
        raise InputError(trouble.read_text(encoding="utf-8"))
    if not found.exists():
        text = (folder / "output").read_text(encoding="utf-8", errors="replace").strip()
        raise InputError(
            f"`{name}` ended without a measurement; allowed: a command that opens a shell which reads "
            f"commands from its standard input. Its output: {text[-_QUOTED:] or 'none'}"
        )
    # The file comes from this program, in a folder that only this user can write.
    seen: Observation = pickle.loads(found.read_bytes())
    return seen


def _end(process: subprocess.Popen[bytes] | subprocess.Popen[str], pipe: IO[str] | None = None) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if pipe is not None:
        pipe.close()


def _ip(prefix: Sequence[str], *words: str) -> list[dict[str, Any]]:
    done = subprocess.run([*prefix, "ip", "-j", *words], capture_output=True, text=True, check=False)
    try:
        found: list[dict[str, Any]] = json.loads(done.stdout or "[]")
    except ValueError:
        return []
    return found


def _addresses(prefix: Sequence[str]) -> list[str]:
    """Returns the global addresses of a namespace, those of IPv4 first."""
    found = [
        str(one["local"])
        for interface in _ip(prefix, "addr", "show")
        for one in interface.get("addr_info", [])
        if one.get("scope") == "global" and "local" in one
    ]
    return sorted(found, key=lambda address: ":" in address)


def _address(near: Sequence[str], far: Sequence[str], there: str) -> str:
    """Returns an address of the far namespace to which the near one has a route. Raises
    :class:`bentpipe.InputError`."""
    known = _addresses(far)
    for address in known:
        routes = _ip(near, "route", "get", address)
        if routes and routes[0].get("dev") not in (None, "lo"):
            return address
    raise InputError(
        f"--namespaces: the first namespace has no route to an address of {there} "
        f"({', '.join(known) or 'which has none'}); allowed: namespaces with a network between them, or give "
        "--reflector"
    )


def _own_address() -> str | None:
    """Returns an address of this host, if it has one beyond loopback."""
    return next(iter(_addresses([])), None)


def is_own(address: str) -> bool:
    """Returns true if an address or name belongs to this host."""
    import socket

    try:
        found = socket.getaddrinfo(address, 0, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    for family, kind, _, _, where in found:
        with socket.socket(family, kind) as sock, contextlib.suppress(OSError):
            sock.bind((where[0], 0, *where[2:]))
            return True
    return False
