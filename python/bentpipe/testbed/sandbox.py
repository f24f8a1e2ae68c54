"""Confinement of the process of a simulation, so that a fault in the engine reaches neither the
database nor the results of other users.

- Landlock (landlock(7), since Linux 5.13): of the data folder, only the folder of the run's owner
  is accessible. All other folders keep their permissions.
- seccomp (seccomp(2)): the process opens no sockets, starts no programs, and traces no processes.
- As root, a network namespace without interfaces.

Runs with a real kernel start programs and mount file systems, which Landlock forbids. They are not
confined.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_SECCOMP: Final = 22
_CLONE_NEWIPC, _CLONE_NEWNET = 0x08000000, 0x40000000

#: System calls of Landlock, with the same numbers on all architectures.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
#: Number of access rights of files by version of Landlock (<linux/landlock.h>).
_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15}
_RIGHTS_SINCE_5: Final = 16
#: Rights that apply to files: execute, write, read, truncate, and ioctl of devices.
_OF_FILES: Final = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15

#: System calls that a simulation does not need: socket, connect, bind, execve, execveat, ptrace,
#: process_vm_readv, process_vm_writev, mount, unshare, setns, bpf, keyctl, io_uring_setup. By
#: machine: the number of its architecture (<linux/audit.h>), and the calls.
_DENIED: Final = {
    "x86_64": (0xC000003E, (41, 42, 49, 59, 322, 101, 310, 311, 165, 272, 308, 321, 250, 425)),
    "aarch64": (0xC00000B7, (198, 203, 200, 221, 281, 117, 270, 271, 40, 97, 268, 280, 219, 425)),
}

_libc = ctypes.CDLL(None, use_errno=True)


def enter(data: Path, allowed: Path) -> list[str]:
    """Confines this process and its threads for the rest of their lives. ``allowed`` is the
    accessible folder below ``data``. Returns the confinements in force: "landlock", "seccomp",
    "network"."""
    entered = []
    if os.geteuid() == 0 and _libc.unshare(_CLONE_NEWNET | _CLONE_NEWIPC) == 0:
        entered.append("network")
    # Both confinements require that programs gain no privileges.
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return entered
    if _landlock(data, allowed):
        entered.append("landlock")
    if _seccomp():
        entered.append("seccomp")
    return entered


def landlock_version() -> int:
    """Returns the version of the kernel's Landlock; 0 if there is none."""
    version: int = _libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(0, version)


def beside(data: Path) -> Iterator[Path]:
    """Yields the files and folders that together contain everything outside ``data``. Links are
    left out: their targets are below other paths, or lead to ``data``."""
    inner = {data, *data.parents}
    for folder in data.parents:
        yield from (path for path in folder.iterdir() if path not in inner and not path.is_symlink())


def _landlock(data: Path, allowed: Path) -> bool:
    version = landlock_version()
    if version == 0:
        return False
    rights = (1 << _RIGHTS.get(version, _RIGHTS_SINCE_5)) - 1
    ruleset = _libc.syscall(_CREATE, struct.pack("=Q", rights), ctypes.c_size_t(8), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    try:
        for path in (allowed, *beside(data)):
            try:
                file = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                # The file has been removed, or this user may not open it.
                continue
            granted = rights if path.is_dir() else rights & _OF_FILES
            rule = struct.pack("=Qi", granted, file)
            added = _libc.syscall(_ADD, ruleset, ctypes.c_int(1), rule, ctypes.c_uint32(0))
            os.close(file)
            if added != 0 and path == allowed:
                return False
        return bool(_libc.syscall(_RESTRICT, ruleset, ctypes.c_uint32(0)) == 0)
    finally:
        os.close(ruleset)


def _seccomp() -> bool:
    """Makes the denied system calls return EPERM, by a program of classic BPF (seccomp(2))."""
    known = _DENIED.get(platform.machine())
    if known is None:
        return False
    architecture, denied = known
    load, equal, at_least, answer = 0x20, 0x15, 0x35, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000 | errno.EPERM
    count = len(denied)
    program = [
        # The architecture, at offset 4 of struct seccomp_data, and the number of the call, at 0.
        # Calls of other architectures and of x32 are refused.
        (load, 0, 0, 4),
        (equal, 0, count + 3, architecture),
        (load, 0, 0, 0),
        (at_least, count + 1, 0, 0x40000000),
        *((equal, count - place, 0, number) for place, number in enumerate(denied)),
        (answer, 0, 0, allow),
        (answer, 0, 0, refuse),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in program))
    header = struct.pack("@HP", len(program), ctypes.addressof(code))
    return bool(_libc.prctl(_PR_SET_SECCOMP, 2, header, 0, 0) == 0)
