"""Start and stop of the two processes of a test bed."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import multiprocessing.resource_tracker
import os
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import uvicorn
from sqlalchemy import select

from bentpipe.errors import InputError, trouble

from . import accounts
from .api import application
from .executor import lock_folder, run_executor
from .settings import Settings
from .store import Store, migrate
from .tables import User

#: The part of the test bed that a command serves: all, or one process if both are separate
#: services.
Part = Literal["all", "web", "executor"]


#: Mode of a data folder that a group shares: new files in it belong to the group.
SHARED_MODE: Final = 0o2770

#: Exit code for errors that the user can correct, as in every command.
EXIT_REFUSED: Final = 2


@dataclass(frozen=True)
class Address:
    """The address of the web process: a host and port, or a Unix socket."""

    host: str
    port: int
    socket: Path | None = None

    @property
    def url(self) -> str:
        """The URL of the page; the path of the socket behind a proxy."""
        if self.socket is not None:
            return f"unix:{self.socket}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def prepare(settings: Settings, part: Part = "all") -> str | None:
    """Creates the folder and the database, or updates the database. Returns the secret of the first
    administrator's invitation if there is no administrator. Raises :class:`bentpipe.InputError` for
    a folder with other contents.

    The executor creates no invitation, because it would replace the invitation that the web
    process has printed.
    """
    _create(settings)
    # Other users get no access, regardless of the folder's mode. With a group, each of the two
    # processes may write the files of the other.
    os.umask(0o077 if settings.group is None else 0o007)
    if settings.group is not None:
        about = settings.data.stat()
        if (about.st_gid, about.st_mode & 0o7777) != (
            settings.group,
            SHARED_MODE,
        ) and about.st_uid == os.geteuid():
            os.chown(settings.data, -1, settings.group)
            settings.data.chmod(SHARED_MODE)
        if not settings.database:
            # SQLite gives the group only read access.
            settings.file.touch(mode=0o660)
    store = Store(settings.url)
    migrate(store)
    # Created after the database, so that a failure leaves no folder without a database.
    settings.runs.mkdir(exist_ok=True)
    secret = None if part == "executor" else accounts.first_invitation(store)
    store.close()
    return secret


def offer_reset(settings: Settings, name: str) -> str:
    """Returns the secret of a link that sets a new password of an account of an existing test bed.
    Raises :class:`bentpipe.InputError` if there is no such test bed or account."""
    if not settings.holds_test_bed:
        raise InputError(f"--data {settings.data} holds no test bed; allowed: the folder of a test bed")
    store = Store(settings.url)
    try:
        migrate(store)
        with store.reading() as rows:
            user = rows.scalar(select(User).where(User.name == name))
            names = rows.scalars(select(User.name).order_by(User.name)).all()
        if user is None:
            known = ", ".join(names) or "none, because the test bed has no accounts"
            raise InputError(f"--reset {name}: there is no such account; allowed: {known}")
        return accounts.offer_reset(store, user)
    finally:
        store.close()


def _create(settings: Settings) -> None:
    """Creates the folder, for this user only. An existing folder keeps its mode, and must be empty
    or belong to a test bed."""
    data = settings.data
    try:
        if not data.is_dir():
            data.mkdir(mode=0o700, parents=True)
        elif any(data.iterdir()) and not settings.holds_test_bed:
            raise InputError(
                f"--data {data} is not empty and holds no test bed database; allowed: a new or empty folder, or the "
                "folder of a test bed"
            )
    except FileExistsError as error:
        if not data.is_dir():
            raise InputError(f"--data {data} is not a folder; choose another path") from error
    except OSError as error:
        raise InputError(f"--data {trouble(error)}") from error


def serve(settings: Settings, address: Address, part: Part, ready: Callable[[], None]) -> int:
    """Serves until SIGTERM or SIGINT. Returns the exit code."""
    if part == "executor":
        run_executor(settings, ready)
        return 0
    if part == "all":
        # Checked first. Otherwise the test bed would answer requests until its executor fails.
        lock_folder(settings.data).close()
    # Bound before anything starts, so that a port in use is reported first.
    listening = bind(address)
    # From here on signals only set a flag: an exception may be lost in the interrupted code, such
    # as garbage collection. The server re-raises the signal that ended it; this process must not
    # end before the executor.
    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ending.set())
    executor = _started(settings) if part == "all" else None
    try:
        store = Store(settings.url)
        config = uvicorn.Config(
            application(settings, store),
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=True,
            timeout_graceful_shutdown=2,
            # Longer than proxies and browsers keep an idle connection for its next request: a
            # request that meets the close of its connection fails.
            timeout_keep_alive=65,
            limit_concurrency=1500,
            lifespan="on",
        )
        server = Server(config, ready, ending)
        if executor is not None:
            threading.Thread(target=server.end_with, args=(executor.sentinel,), daemon=True).start()
        server.run(sockets=[listening])
        store.close()
    finally:
        if executor is not None:
            _end(executor)
        listening.close()
        if address.socket is not None:
            with suppress(InputError):
                _remove_dead(address.socket)
    # An executor that was stopped on request has the code 0, or that of SIGTERM during its start.
    if executor is None or not server.abandoned or executor.exitcode in (0, -signal.SIGTERM):
        return 0
    print(
        "bentpipe: the executor has ended, so the test bed was stopped; start it again. Waiting runs stay queued.",
        file=sys.stderr,
    )
    return EXIT_REFUSED if executor.exitcode == EXIT_REFUSED else 1


class Server(uvicorn.Server):
    """The web server. It calls ``ready`` when it listens, unless it is ``ending``. ``abandoned`` is
    true if it ended because its executor ended."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], ending: threading.Event) -> None:
        super().__init__(config)
        self.ready = ready
        self.ending = ending
        self.abandoned = False

    def end_with(self, sentinel: int) -> None:
        """Waits for the end of a process, then ends the server if it still runs."""
        multiprocessing.connection.wait([sentinel])
        if not self.should_exit and not self.ending.is_set():
            self.abandoned = self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts listening on the sockets."""
        # From here on the server handles signals itself.
        self.should_exit = self.should_exit or self.ending.is_set()
        await super().startup(sockets)
        if not self.should_exit:
            self.ready()


def bind(address: Address) -> socket.socket:
    """Returns the listening socket. Raises :class:`bentpipe.InputError` with the remedy if the
    address is in use."""
    if address.socket is not None:
        return _bind_local(address.socket)
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # asyncio disables Nagle's algorithm only if the protocol is given. With it, a body waits 40 ms
    # for the ACK of its header.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((address.host, address.port))
    except (OSError, OverflowError) as error:
        found.close()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"{address.host}, port {address.port}: {reason}; choose another with --port"
        ) from error
    return found


def _bind_local(path: Path) -> socket.socket:
    local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_dead(path)
        local.bind(str(path))
        path.chmod(0o660)
        # Listens at once, so that another test bed does not remove the socket as dead.
        local.listen()
    except OSError as error:
        local.close()
        raise InputError(f"--socket {path}: {error.strerror or error}; choose another path") from error
    except InputError:
        local.close()
        raise
    return local


def _remove_dead(path: Path) -> None:
    """Removes a Unix socket without a listener. Raises :class:`bentpipe.InputError` for any other
    file at the path."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise InputError(
            f"--socket {path} exists and is not a socket; allowed: a new path, or a socket without a listening "
            "program"
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except OSError:
            # Other errors mean that the socket is in use: busy, of another kind, or of another
            # user.
            pass
    raise InputError(f"--socket {path}: another program listens there; stop it, or choose another --socket")


def _started(settings: Settings) -> Any:
    """Starts the executor's process. SIGINT, which a terminal sends to both processes, is blocked
    until the executor can handle it."""
    # The executor is started first, because its start unblocks signals.
    multiprocessing.resource_tracker.ensure_running()
    executor = multiprocessing.get_context("spawn").Process(
        target=_executor, args=(settings, os.getpid()), daemon=False
    )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        executor.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return executor


def _executor(settings: Settings, parent: int) -> None:
    """Runs the executor in its process, and ends with the parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    try:
        run_executor(settings)
    except InputError as error:
        print(f"bentpipe: {error}", file=sys.stderr)
        sys.exit(EXIT_REFUSED)


def _end(process: Any) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    process.join(10)
    if process.is_alive():
        process.kill()
        process.join()
