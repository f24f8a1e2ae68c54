"""The registry of live networks: one record per network, in a private folder of the user.

The record is a file of JSON. It is written before the network is created, and contains everything
that is needed to remove the network.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, TypedDict

from bentpipe.errors import InputError, unknown

from . import processes

#: Time limit in seconds for acquiring the lock on shared state. Processes normally hold the lock
#: for milliseconds.
_LIMIT_S: Final = 60.0

#: Environment variable that replaces the default folder.
FOLDER_VARIABLE: Final = "BENTPIPE_STATE"

_ID: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,31}")


class Host(TypedDict):
    """A host of a live network: its addresses, the path of its namespace, and the inode number of
    the namespace."""

    ipv4: str
    ipv6: str
    namespace: str
    inode: int


class Elsewhere(TypedDict):
    """A host on another machine: its addresses, the machine's address and port, and the commands
    for joining the network."""

    ipv4: str
    ipv6: str
    machine: str
    join: list[str]


@dataclass
class Record:
    """The record of a network: the process that keeps the network up, its hosts, and its other
    state on the machine."""

    id: str
    label: str
    #: The command that started the network: run, shell or up.
    command: str
    #: Id of the process that keeps the network up.
    pid: int
    #: Start time of this process, in ticks since boot.
    started: int
    #: Identifier of the machine's boot.
    boot: str
    #: Time at which the network was registered, in seconds since the epoch.
    since: float
    #: Random text in the environment of the network's programs, which identifies these programs.
    token: str
    #: Inode number of the network namespace in which the network was started.
    outside: int
    #: Name of the nftables table for Internet access in the namespace ``outside``.
    rules: str | None = None
    #: True if IP forwarding was off in the namespace ``outside`` before the first network.
    switched: bool = False
    near: str = ""
    hosts: dict[str, Host] = field(default_factory=dict)
    elsewhere: dict[str, Elsewhere] = field(default_factory=dict)

    @property
    def alive(self) -> bool:
        """True if the process that keeps the network up still runs. A later process with the same
        id does not count."""
        return self.boot == processes.boot() and processes.started(self.pid) == self.started

    def ends(self, within_s: float) -> bool:
        """Waits for the network to end. Returns true if it ends within this time. An ending network
        removes its socket before its process ends, so a missing socket also counts as an end."""
        limit = time.monotonic() + within_s
        while self.alive and self.file("sock").exists():
            if time.monotonic() > limit:
                return False
            time.sleep(0.05)
        return True

    @property
    def inodes(self) -> set[int]:
        """The inode numbers of the network's namespaces."""
        return {host["inode"] for host in self.hosts.values()}

    def file(self, ending: str) -> Path:
        """Returns the path of another file of this network, in the folder of the record."""
        return folder() / f"{self.id}.{ending}"


#: Returns true if a network must switch forwarding on, given the records of the other networks.
Switching = Callable[[Record, Iterable[Record]], bool]


def folder() -> Path:
    """Returns the folder of the records, and creates it if it is missing. Raises ``OSError`` if
    other users can access the folder."""
    path = _folder_path()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.lstat()
    except OSError as error:
        raise OSError(f"the state of networks cannot be stored in {path}: {error.strerror}") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise OSError(
            f"{path} is not a folder that only you can access, so it cannot store the state of networks: "
            "remove it, or change its owner to you and its mode to 700"
        )
    return path


def _folder_path() -> Path:
    if chosen := os.environ.get(FOLDER_VARIABLE):
        return Path(chosen)
    if os.geteuid() == 0 and os.access("/run", os.W_OK):
        return Path("/run/bentpipe")
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent")
    if runtime.is_dir() and runtime.stat().st_uid == os.geteuid():
        return runtime / "bentpipe"
    return Path.home() / ".local/state/bentpipe"


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Context manager that locks the state that all networks share. Raises ``OSError`` if another
    process holds the lock for longer than the time limit."""
    limit = time.monotonic() + _LIMIT_S
    with (folder() / "lock").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > limit:
                    raise OSError(
                        f"another bentpipe process has locked {file.name} for {_LIMIT_S:g} s: end that "
                        "process first"
                    ) from None
                time.sleep(0.01)
        yield


def sweep() -> None:
    """Removes unfinished records of processes that were killed while writing."""
    with locked():
        for file in folder().glob("*.new"):
            # The first record of a network is written while the state is locked, so no process is
            # writing it now. When a record is updated, the old record exists in the same folder.
            if not file.with_suffix(".json").exists():
                file.unlink()


def records() -> list[Record]:
    """Returns all records from the oldest to the newest, including networks that were killed."""
    known = []
    for file in folder().glob("*.json"):
        # Another process may remove the record in the meantime.
        with contextlib.suppress(FileNotFoundError):
            try:
                known.append(Record(**json.loads(file.read_text(encoding="utf-8"))))
            except (ValueError, TypeError):
                raise OSError(f"{file} is damaged; remove this file while no network is up") from None
    return sorted(known, key=lambda record: record.since)


def find(run: str | None) -> Record:
    """Returns the network with this id or, without an id, the only network that is up."""
    known = records()
    if run is not None:
        for record in known:
            if record.id == run:
                return record
        raise unknown("network", run, [record.id for record in known])
    living = [record for record in known if record.alive]
    if len(living) == 1:
        return living[0]
    if not living:
        raise InputError("no network is up: start one with `bentpipe net up SCENARIO`")
    raise InputError(f"several networks are up; choose one of {', '.join(record.id for record in living)}")


def claim(label: str, command: str, name: str | None, *, switching: Switching | None) -> Record:
    """Registers a network of this process and returns its record. The network gets the id ``name``,
    or a free id derived from ``label``.

    ``switching`` is given for a network with Internet access. It is called while the state is
    locked, and returns true if the network must switch forwarding on.
    """
    if name is not None and not _ID.fullmatch(name):
        raise InputError(
            f'"{name}" is not a valid network id; allowed: up to 32 lower-case letters, digits, - and .'
        )
    pid = os.getpid()
    record = Record(
        id=name or "",
        label=label,
        command=command,
        pid=pid,
        started=processes.started(pid) or 0,
        boot=processes.boot(),
        since=time.time(),
        token=secrets.token_hex(8),
        outside=processes.namespace("self") or 0,
    )
    with locked():
        taken = {other.id: other for other in records()}
        if name is None:
            stem = re.sub(r"[^a-z0-9.]+", "-", label.lower()).strip("-.")[:24] or "network"
            numbered = (stem if count == 1 else f"{stem}-{count}" for count in range(1, len(taken) + 2))
            record.id = next(free for free in numbered if free not in taken)
        elif name in taken:
            reason = "is already up" if taken[name].alive else "was killed and has remains"
            raise InputError(f"{name} {reason}: run `bentpipe net down {name}`, or choose another name")
        if switching is not None:
            record.rules = f"bentpipe_{record.id.replace('-', '_').replace('.', '_')}_{pid}"
            record.switched = switching(record, taken.values())
        write(record)
    return record


def write(record: Record) -> None:
    """Writes a record atomically."""
    new = record.file("new")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(new, flags, 0o600), "w", encoding="utf-8") as file:
            json.dump(asdict(record), file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(record.file("json"))
    except OSError as error:
        new.unlink(missing_ok=True)
        remedy = "; free some space there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise OSError(
            f"the state of the network cannot be written to {new.parent}: {error.strerror}{remedy}"
        ) from None


def forget(record: Record) -> None:
    """Removes a network's files from the folder, the record last."""
    for ending in ("new", "sock", "hosts", "log", "json"):
        record.file(ending).unlink(missing_ok=True)
