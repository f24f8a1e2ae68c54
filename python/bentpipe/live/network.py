"""A network that this process keeps up. The network is registered before it is created. When it
ends, everything that was created for it is removed."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from bentpipe import _native

from . import environment, forwarding, processes, state
from .control import Server
from .guard import Guard

if TYPE_CHECKING:
    from .target import Target

#: Number of open files that the engine needs for each host.
_FILES_PER_HOST: Final = 3
#: Number of open files that the engine needs independently of the number of hosts.
_FILES: Final = 64

_NO_WAY_OUT: Final = (
    "access to the machine's own network needs root: run the command as root, or without --internet. "
    "(Networks inside other networks need no root.)"
)


def acquire(*, internet: bool) -> None:
    """Makes sure that this process may create networks. Enters a user namespace if needed, so call
    it before starting threads."""
    try:
        entered = _native.enter_user_namespace()
    except OSError as error:
        raise OSError(
            f"you are not permitted to create networks on this machine ({error.strerror or error}): run as "
            "root, or allow user namespaces (sysctl user.max_user_namespaces, and "
            "kernel.unprivileged_userns_clone or kernel.apparmor_restrict_unprivileged_userns if it "
            "exists)"
        ) from None
    if entered and internet:
        raise OSError(_NO_WAY_OUT)


class LiveNetwork:
    """A context manager that keeps a network up. ``command`` is the user's command: run, shell or
    up. ``elsewhere`` has the addresses of hosts on other machines by name."""

    def __init__(
        self,
        target: Target,
        command: str,
        *,
        name: str | None = None,
        internet: bool,
        elsewhere: dict[str, str] | None = None,
    ) -> None:
        self.target = target
        self.elsewhere = elsewhere or {}
        switching = forwarding.will_switch if internet else None
        self.record = state.claim(target.label, command, name, switching=switching)
        self.record.near = target.near

    def __enter__(self) -> Self:
        self._guard = Guard()
        try:
            self._make()
        except BaseException:
            self._guard.close()
            self._forget()
            raise
        return self

    def _make(self) -> None:
        options: dict[str, object] = {
            "hosts": self.target.hosts,
            "elsewhere": self.elsewhere,
            "mtu": self.target.mtu,
        }
        if self.record.rules is not None:
            options |= {"internet": self.target.far, "rules": self.record.rules}
        _allow_files(_FILES + _FILES_PER_HOST * len(self.target.hosts))
        scenario = self.target.scenario
        self.network = _native.Network(scenario.native, json.dumps(options))
        about = json.loads(self.network.describe())
        self.record.hosts, self.record.elsewhere = about["hosts"], about["elsewhere"]
        self._guard.tell(self.record)
        state.write(self.record)
        environment.write_hosts(self.record)
        self._server = Server(self.record, self.network)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        survivors = processes.end(self.record.inodes)
        self._guard.close()
        if survivors:
            print(
                f"bentpipe: {self.record.id}: these processes still run after SIGKILL: {survivors}",
                file=sys.stderr,
            )
        try:
            # Remove the rules before the interface that they apply to.
            self._forget()
        finally:
            self.network.stop()

    def _forget(self) -> None:
        with state.locked():
            forwarding.remove(self.record, state.records())
            state.forget(self.record)


def _allow_files(wanted: int) -> None:
    """Raises this process's limit of open files, if it is below the number of wanted files. The
    hard limit bounds the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted += len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
