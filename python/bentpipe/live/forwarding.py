"""The state of Internet access outside the network: an nftables table of each network, and IP
forwarding. The last network switches IP forwarding off again if it was off before."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bentpipe import _native

from . import processes

if TYPE_CHECKING:
    from .state import Record

#: Time limit of a call of nft in seconds. A call normally takes milliseconds.
_LIMIT_S: Final = 30.0

_SWITCH: Final = Path("/proc/sys/net/ipv4/ip_forward")


def will_switch(record: Record, others: Iterable[Record]) -> bool:
    """Returns true if forwarding was off before the first network. The caller must hold the lock on
    the state."""
    if _SWITCH.read_text().strip() == "0":
        return True
    return any(other.switched for other in _in_same_namespace(record, others))


def remove(record: Record, others: Iterable[Record]) -> None:
    """Removes a network's rules. Switches forwarding off if it was off before and no other network
    needs it. The caller must hold the lock on the state and be in the namespace of the rules."""
    if record.rules is None or not _exists(record.rules):
        return
    if record.switched and not any(other.alive for other in _in_same_namespace(record, others)):
        _SWITCH.write_text("0")
    # The table is removed last: as long as the table exists, a failed removal can be repeated.
    _native.remove_internet_rules(record.rules, False)


def out_of_reach(record: Record, living: Iterable[Record]) -> bool:
    """Returns true if the rules are in an existing network namespace other than this process's."""
    if record.rules is None or record.outside == processes.namespace("self"):
        return False
    if any(record.outside in other.inodes for other in living):
        return True
    named = Path("/run/netns")
    names = named.iterdir() if named.is_dir() else ()
    return any(name.stat().st_ino == record.outside for name in names) or bool(
        processes.inside([record.outside])
    )


def _in_same_namespace(record: Record, others: Iterable[Record]) -> list[Record]:
    """Returns the other networks with Internet access through the same namespace."""
    return [
        other
        for other in others
        if other.id != record.id and other.rules is not None and other.outside == record.outside
    ]


def _exists(table: str) -> bool:
    try:
        done = subprocess.run(
            ["nft", "list", "table", "ip", table],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_LIMIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"nft did not answer for {error.timeout:g} s") from None
    except FileNotFoundError:
        # nft created the table. If nft was removed since, the table counts as missing.
        return False
    return done.returncode == 0
