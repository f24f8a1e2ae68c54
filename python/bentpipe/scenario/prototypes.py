"""User-defined congestion controls: C source from any folder, and Python classes for prototypes.

In a scenario, ``congestion = { file = "./mine.c" }`` selects C source instead of a name. The source
is compiled when the scenario is read, if :func:`allow_code` was called. The code runs in this
process with the rights of its user. A class is registered with :func:`congestion`, and scenarios of
this process select it by its name::

    @bp.congestion("half")
    class Half:
        def cong_avoid(self, tcp, ack, acked):
            tcp.snd_cwnd += 1 if tcp.random % 2 else 0

    bp.simulate("examples/geo-bulk.toml", overrides={"flow.download.transport.congestion": "half"})

Every method call passes from the engine into Python, which takes about a microsecond. The
simulation of one flow takes four times as long as with C, and connections of several threads wait
for each other. The code of a class cannot be compared, so other processes do not reuse runs with
such a class. docs/congestion-recipe.md describes both.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Final, TypeVar

from bentpipe import _native
from bentpipe.errors import InputError

Class = TypeVar("Class", bound=type)

#: A token of each registered class by name, unique per registration and process.
registered: Final[dict[str, str]] = {}

#: Names that the kernel allows after ``bp_``, so that a class can be converted to a C file with the
#: same name.
_NAME = re.compile("[a-z][a-z0-9_]{0,11}")


def allow_code(*, allowed: bool = True) -> None:
    """Permits scenarios with congestion controls as C source. From now on, this process compiles
    and runs such code with the rights of its user, without a sandbox. Without this call, such
    scenarios are refused."""
    _native.allow_code(allowed)


def congestion(name: str) -> Callable[[Class], Class]:
    """Decorates a class, so that scenarios of this process can select it as the congestion control
    of simulated connections.

    Each connection has its own instance, which is created without arguments. Methods are the
    operations of Linux, each with the connection ``tcp`` as its first argument: ``cong_avoid(tcp,
    ack, acked)`` or ``cong_control(tcp, sample)``, and optionally ``init(tcp)``, ``ssthresh(tcp)``,
    ``undo_cwnd(tcp)``, ``pkts_acked(tcp, acked, rtt_us, in_flight)``, ``set_state(tcp, state)`` and
    ``cwnd_event(tcp, event)``. Without ``ssthresh``, a loss halves the window. ``tcp`` has the
    fields of Linux, such as ``snd_cwnd``, ``snd_ssthresh``, ``srtt_us`` (eighths of a microsecond)
    and ``tcp_mstamp``; an exception ends the run and is raised. Raises :class:`bentpipe.InputError`
    for a name or class that cannot be used.

    >>> @congestion("steady")
    ... class Steady:
    ...     def cong_avoid(self, tcp, ack, acked):
    ...         tcp.snd_cwnd = 20
    >>> import bentpipe as bp
    >>> changes = {"flow.download.transport.congestion": "steady", "duration": "20 s"}
    >>> run = bp.simulate("examples/geo-bulk.toml", overrides=changes)
    >>> run.trace("cwnd")["cwnd"][-1]
    20
    """

    def register(made: Class) -> Class:
        if not _NAME.fullmatch(name):
            raise InputError(
                f'"{name}" cannot name a congestion control; allowed: up to 12 of a-z, 0-9 and _'
            )
        try:
            _native.register_congestion(name, made)
        except ValueError as error:
            raise InputError(str(error)) from None
        registered[name] = secrets.token_hex(8)
        return made

    return register
