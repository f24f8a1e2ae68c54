"""Cases that run on the virtual and on the real clock, for the tests and docs/reference/parity.md.

A case is a scenario and the quantities that must agree. Add a case to :data:`CASES` for a new
variant, workload or access scheme.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from . import pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


#: Tolerance between the two clocks if both use the model endpoints; without exceptions.
IN_MEMORY: Final = 0.05


@dataclass(frozen=True)
class Exemption:
    """A quantity with a larger tolerance than the others, with the physical reason."""

    tolerance: float
    reason: str


@dataclass(frozen=True)
class Case:
    """A scenario as TOML, without name and duration, and the relative tolerance between the
    clocks."""

    name: str
    scenario: str
    duration: str = "20 s"
    seeds: int = 1
    tolerance: float = 0.10
    exceptions: dict[str, Exemption] = field(default_factory=dict)
    #: Compares the mean over all flows, since microseconds decide which of two equal flows finds
    #: the queue full.
    mean_of_flows: bool = False
    quantities: tuple[str, ...] = ("goodput", "rtt_mean", "rtt_p95", "completed")
    #: Single runs differ by chance, independently in kernel and model. The means may then also
    #: differ by two standard errors.
    varies: bool = False
    #: Also runs the model endpoints behind ports in memory, on the real clock, without privileges.
    in_memory: bool = False

    @property
    def text(self) -> str:
        """The complete scenario as TOML."""
        return f'name = "{self.name}"\nduration = "{self.duration}"\n{self.scenario}'

    def file(self, folder: Path) -> Path:
        """Writes the scenario to a file in a folder. Returns the file."""
        file = folder / f"{self.name}.toml"
        file.write_text(self.text, encoding="utf-8")
        return file


def _dvb(scheme: str) -> str:
    return f'preset = "dvb-rcs"\n[network.sat.return.dama]\nscheme = {scheme}\n'


#: DVB-RCS2 between two places; the satellites are appended.
_DVB2: Final = """
preset = "dvb-rcs2"
[network.sat.return.dama]
scheme = "vbdc"
requests = "dedicated"
[network.sat.propagation]
gateway = { latitude = "-22.9 deg", longitude = "-47.1 deg" }
terminals = { latitude = "-3.1 deg", longitude = "-60.0 deg" }
"""

#: Eight satellites above the equator, with a handover after ten seconds.
_MEO: Final = """
[network.sat.propagation.orbit]
epoch = "2000-01-01T12:56:55Z"
shell = [{ kind = "walker-delta", altitude = "8062 km", inclination = "0 deg", planes = 1, satellites = 8 }]
"""

#: Slow start ends below the capacity of path and queue, so that it loses no packets.
_LIMITED_START: Final = '{ kind = "tcp", congestion = "reno", initial_ssthresh = 150 }'

#: Starts flows as in the DAMA study, so that slow start does not fill a queue of seconds.
_SMALL_START: Final = (
    '{ kind = "tcp", congestion = "reno", initial_ssthresh = 20, initial_window = 1, delayed_ack = false }'
)


def _change(at: str, *keys: str) -> str:
    return f'\n[[change]]\nat = "{at}"\n' + "".join(f"set.link.{key}\n" for key in keys)


CASES: tuple[Case, ...] = (
    Case("geo-reno", pieces.GEO + pieces.flow("f", "user", "server"), "30 s"),
    Case("geo-reno-back", pieces.GEO + pieces.flow("f", "server", "user"), "30 s"),
    Case(
        "geo-vegas",
        pieces.GEO + pieces.flow("f", "user", "server", transport='{ kind = "tcp", congestion = "vegas" }'),
        "30 s",
    ),
    Case(
        "geo-finite",
        pieces.GEO + pieces.flow("f", "user", "server", '{ kind = "bulk", size = "2 MB" }', _LIMITED_START),
        "15 s",
        in_memory=True,
    ),
    Case(
        "geo-overshoot",
        pieces.GEO + pieces.flow("f", "user", "server", '{ kind = "bulk", size = "2 MB" }'),
        "15 s",
        in_memory=True,
    ),
    Case(
        "geo-loss",
        pieces.GEO + 'error = { kind = "packet", probability = 0.01 }\n' + pieces.flow("f", "user", "server"),
        "30 s",
        seeds=5,
        tolerance=0.15,
    ),
    Case(
        "rate-change",
        pieces.GEO
        + pieces.flow("f", "user", "server", transport=_LIMITED_START)
        + _change("10 s", 'sat.rate = "2 Mbit/s"')
        + _change("20 s", 'sat.rate = "4 Mbit/s"'),
        "30 s",
        in_memory=True,
    ),
    Case(
        "delay-change",
        pieces.GEO
        + pieces.flow("f", "user", "server", transport=_LIMITED_START)
        + _change("10 s", 'sat.delay = "100 ms"')
        + _change("20 s", 'sat.delay = "150 ms"', 'sat.return.delay = "180 ms"'),
        "30 s",
    ),
    Case("dvb-cra", _dvb('"cra"') + pieces.flow("f", "st1", "gw", transport=_SMALL_START), "30 s"),
    Case(
        "dvb-rbdc",
        _dvb('"rbdc"') + pieces.flow("f", "st1", "gw", transport=_SMALL_START),
        "30 s",
        in_memory=True,
    ),
    Case("dvb-vbdc", _dvb('"vbdc"') + pieces.flow("f", "st1", "gw", transport=_SMALL_START), "30 s"),
    Case("dvb-forward", _dvb('"rbdc"') + pieces.flow("f", "gw", "st1", transport=_SMALL_START), "30 s"),
    Case(
        "dvb2-geo",
        _DVB2 + 'satellite = "-47 deg"\n' + pieces.flow("f", "st1", "gw", transport=_SMALL_START),
        "30 s",
    ),
    Case(
        "dvb2-meo",
        _DVB2 + _MEO + pieces.flow("f", "st1", "gw", transport=_SMALL_START),
        "30 s",
        in_memory=True,
    ),
    Case("dvb2-meo-forward", _DVB2 + _MEO + pieces.flow("f", "gw", "st1", transport=_SMALL_START), "30 s"),
    Case(
        "two-flows",
        pieces.GEO
        + pieces.flow("a", "user", "server", transport=_LIMITED_START)
        + pieces.flow("b", "user", "server", transport=_LIMITED_START),
        "30 s",
        mean_of_flows=True,
    ),
    Case(
        "cbr",
        pieces.GEO
        + pieces.flow(
            "f", "user", "server", '{ kind = "cbr", rate = "400 kbit/s", datagram = "500 B" }', '"udp"'
        ),
        "10 s",
        quantities=("goodput", "delay_mean", "delivered_packets"),
        in_memory=True,
    ),
    Case(
        "impulses",
        _dvb('"rbdc"')
        + pieces.flow(
            "f",
            "st1",
            "gw",
            '{ kind = "cbr", rate = "1 Mbit/s", datagram = "1000 B", on = "200 ms", off = "2 s" }',
            '"udp"',
        ),
        "20 s",
        quantities=("goodput", "delay_mean", "delivered_packets"),
        in_memory=True,
    ),
)

#: A satellite link and a wired link, with handovers to the wire at 8 s and back at 16 s.
_HYBRID: Final = """
[[link]]
name = "satellite"
from = "user"
to = "server"
rate = "512 kbit/s"
delay = "250 ms"
queue = { kind = "drop-tail", packets = 60 }
[[link]]
name = "wired"
from = "user"
to = "server"
rate = "2 Mbit/s"
delay = "25 ms"
queue = { kind = "drop-tail", packets = 60 }
[[multilink]]
name = "hybrid"
links = ["satellite", "wired"]
"""


#: A soft handover to a link of a quarter of the rate, onto which the old link's queue moves.
#: Packets in transit on the old link overtake these for longer than RACK waits, and no packet is
#: lost.
_SLOWER_LINK: Final = """
[[link]]
name = "first"
from = "user"
to = "server"
rate = "2 Mbit/s"
delay = "25 ms"
queue = { kind = "drop-tail", packets = 100 }
[[link]]
name = "second"
from = "user"
to = "server"
rate = "512 kbit/s"
delay = "25 ms"
queue = { kind = "drop-tail", packets = 100 }
[[multilink]]
name = "hybrid"
links = ["first", "second"]
[[handover]]
at = "10 s"
to = "second"
overlap = "1 s"
"""


def _slower(congestion: str) -> Case:
    return Case(
        f"handover-slower-{congestion}",
        _SLOWER_LINK
        + pieces.flow("f", "user", "server", transport=f'{{ kind = "tcp", congestion = "{congestion}" }}'),
        "24 s",
        quantities=("goodput", "timeouts"),
    )


def _handovers(keys: str) -> str:
    return "".join(
        f'\n[[handover]]\nat = "{at}"\nto = "{to}"\n{keys}\n'
        for at, to in (("8 s", "wired"), ("16 s", "satellite"))
    )


_BREAK: Final = 'interruption = "500 ms"\npackets = "lose"'
#: Slow start ends below the capacity of the satellite link and its queue, so that only handovers
#: lose packets.
_SATELLITE_START: Final = '{ kind = "tcp", congestion = "reno", initial_ssthresh = 40 }'

CASES += (
    Case(
        "handover-overlap",
        _HYBRID
        + _handovers('overlap = "1 s"')
        + pieces.flow("f", "user", "server", transport=_SATELLITE_START),
        "24 s",
        quantities=("goodput",),
    ),
    Case(
        "handover-break",
        _HYBRID + _handovers(_BREAK) + pieces.flow("f", "user", "server", transport=_SATELLITE_START),
        "24 s",
        quantities=("goodput",),
    ),
    *(_slower(congestion) for congestion in ("reno", "cubic")),
    Case(
        "handover-datagrams",
        _HYBRID
        + _handovers(_BREAK)
        + pieces.flow(
            "f", "user", "server", '{ kind = "cbr", rate = "400 kbit/s", datagram = "500 B" }', '"udp"'
        ),
        "24 s",
        quantities=("goodput", "delay_mean", "delivered_packets"),
        in_memory=True,
    ),
)

_WAITS: Final = ("transactions", "transaction_bytes", "transaction_mean", "transaction_max")

CASES += (
    Case(
        "web",
        pieces.GEO
        + pieces.flow("f", "user", "server", '{ kind = "http", object = "18 kB", pages = 5, think = "1 s" }'),
        "30 s",
        quantities=_WAITS,
    ),
    Case(
        "web-vbdc",
        _dvb('"vbdc"') + pieces.flow("f", "gw", "st1", '{ kind = "http", object = "4400 B" }', _SMALL_START),
        "20 s",
        quantities=_WAITS,
    ),
    Case(
        "ftp-sessions",
        pieces.GEO
        + pieces.flow(
            "f",
            "user",
            "server",
            '{ kind = "ftp", size = "60 kB", distribution = "pareto", every = "2 s", sessions = 8, '
            'direction = "download" }',
        ),
        "30 s",
        quantities=_WAITS,
    ),
    Case(
        "email-rbdc",
        _dvb('"rbdc"') + pieces.flow("f", "st1", "gw", '{ kind = "email", size = "75 kB" }', _SMALL_START),
        "20 s",
        quantities=_WAITS,
    ),
)


#: Conditions under which every congestion control in the engine is compared with the same C file in
#: the kernel: scenario, seeds, tolerance and quantities.
_CONDITIONS: Final = {
    "geo": (pieces.GEO, 1, 0.10, ("goodput", "filled", "retransmissions")),
    "geo-loss-0.1": (
        pieces.GEO + 'error = { kind = "packet", probability = 0.001 }\n',
        5,
        0.15,
        ("goodput", "retransmissions"),
    ),
    "geo-loss-1": (
        pieces.GEO + 'error = { kind = "packet", probability = 0.01 }\n',
        5,
        0.15,
        ("goodput", "retransmissions"),
    ),
    "dvb-vbdc": (_dvb('"vbdc"'), 1, 0.10, ("goodput", "retransmissions")),
    "leo": (
        pieces.GEO.replace("250 ms", "20 ms").replace("250 kB", "50 kB")
        + "".join(
            f'[[change]]\nat = "{second} s"\n'
            f'set.link.sat = {{ delay = "{delay} ms", return = {{ delay = "{delay} ms" }} }}\n'
            for second, delay in ((5, 26), (10, 18), (15, 24), (20, 30), (25, 20))
        ),
        1,
        0.10,
        ("goodput", "retransmissions"),
    ),
}


#: Parameters that reproduce Linux's own modules where these deviate from the papers, by congestion
#: control.
LINUX_PARAMETERS: Final = {
    "bic": "beta = 200, s_max = 16, s_min = 200, search = 4",
    "htcp": "coarse = 1, from_repair = 1, rtt_reference = 100",
    "hybla": "hoe = 0, spacing = 0, coarse = 1, per_ack = 1, from_rho = 1",
    "westwood": "filter = 875, order = 2, late = 1",
    "yeah": "early = 1",
}

#: Congestion controls that exist both in bentpipe and in the kernel in virtual time.
KERNEL_NAMES: Final = (
    "reno", "cubic", "hybla", "westwood", "vegas", "veno", "illinois", "htcp", "bic", "scalable", "highspeed", "yeah",
    "bbr",
)  # fmt: skip


_CHAOTIC: Final = (
    "with rho = 20 both windows jump to their maximum at the first acknowledgment, and again after each recovery; "
    "the amount of data sent then is chaotic (1531 to 8412 retransmissions in the kernel with queues of 230 to "
    "270 kB, docs/notes/linux-tcp.md)"
)

#: Cases in which bentpipe's congestion control is known to differ by more than the tolerance from
#: the kernel's own of the same name, with the reason.
KNOWN_DIFFERENCES: Final = {"geo-hybla": _CHAOTIC}

#: Cases in which a C file is known to behave differently in the engine and in the kernel, with the
#: reason.
KNOWN_HOME_DIFFERENCES: Final[dict[str, str]] = {}

#: Congestion controls that draw random numbers: over LEO, some runs retransmit 30 to 50 segments
#: and others none.
_RANDOM_NAMES: Final = ("bbr", "bbr3")

#: Number of runs of these congestion controls, and of Hybla under random losses. Hybla's
#: retransmissions are then chaotic; in the kernel they vary by a factor of eight.
_RUNS: Final = 9
_RUNS_OF_HYBLA: Final = 16

#: Hybla with rho = 2, its initial window, at which the window does not jump.
_RHO_2: Final = "rtt0 = 250"

#: Hybla's window grows so fast that the receive window limits it. This key makes the receive window
#: of emulated hosts start as small as that of Linux.
_GROWING: Final = 'receive_window_start = "64 KiB", '


#: A congestion control that Linux does not have undoes reductions after a soft handover without
#: loss.
UNDO_CASES: Final = (_slower("compound"),)


def home_cases(names: Iterable[str]) -> tuple[Case, ...]:
    """Returns the cases of bentpipe's C files under every condition."""
    others = variant_cases(name for name in names if name != "hybla")
    return others + variant_cases(["hybla"], more=_GROWING)


def kernel_cases() -> tuple[Case, ...]:
    """Returns the cases of the kernel's own congestion controls under every condition.

    bentpipe's congestion controls use the constants of the kernel's modules in these cases.
    """
    of_rho_2 = variant_cases(["hybla"], {"hybla": f"{LINUX_PARAMETERS['hybla']}, {_RHO_2}"}, _GROWING)
    return (
        variant_cases([name for name in KERNEL_NAMES if name != "hybla"], LINUX_PARAMETERS)
        + variant_cases(["hybla"], LINUX_PARAMETERS, _GROWING)
        + tuple(replace(case, name=f"{case.name}-rho-2") for case in of_rho_2 if case.name.startswith("geo"))
    )


#: Datagrams at random times, which take 2 % of the link. A single segment can decide how a flow's
#: slow start ends, so only the mean over seeds shows how flows share the link.
_NOISE: Final = pieces.flow(
    "noise",
    "user",
    "server",
    '{ kind = "cbr", rate = "400 kbit/s", datagram = "500 B", on = "100 ms", off = "400 ms", '
    'distribution = "exponential" }',
    '"udp"',
)


def _shared(name: str, buffer: str, *flows: tuple[str, str]) -> Case:
    """Returns a case of flows, each with a congestion control and a start, over one GEO link."""
    parts = (
        pieces.flow(
            f"{index}-{congestion}",
            "user",
            "server",
            '"bulk"',
            f'{{ kind = "tcp", congestion = "{congestion}" }}',
            f'start = "{start}"',
        )
        for index, (congestion, start) in enumerate(flows)
    )
    return _drawn(name, pieces.GEO.replace("250 kB", buffer) + "".join(parts) + _NOISE)


def _drawn(name: str, scenario: str) -> Case:
    return Case(f"shared-{name}", scenario, "60 s", 9, 0.15, quantities=("goodput",), varies=True)


def shared_cases() -> tuple[Case, ...]:
    """Returns the cases of flows that compete for a link.

    These are CUBIC and BBR with a buffer of half, one and two bandwidth-delay products, two equal
    flows, three flows, unequal round-trip times, and a return link of DVB-RCS.
    """
    cubic_and_bbr = (("cubic", "0 s"), ("bbr", "1 s"))
    far = "".join(
        f'[[link]]\nname = "{name}"\nfrom = "{name}"\nto = "user"\nrate = "100 Mbit/s"\ndelay = "{delay}"\n'
        + pieces.flow(name, name, "server", transport='{ kind = "tcp", congestion = "cubic" }')
        for name, delay in (("near", "1 ms"), ("far", "200 ms"))
    )
    dvb = "".join(
        pieces.flow(
            name, "st1", "gw", '"bulk"', f'{{ kind = "tcp", congestion = "{name}" }}', f'start = "{start}"'
        )
        for name, start in (("cubic", "50 ms"), ("reno", "1050 ms"))
    )
    return (
        _shared("half-bdp", "125 kB", *cubic_and_bbr),
        _shared("one-bdp", "250 kB", *cubic_and_bbr),
        _shared("two-bdp", "500 kB", *cubic_and_bbr),
        _shared("reno", "250 kB", ("reno", "0 s"), ("reno", "1 s")),
        _shared("cubic", "250 kB", ("cubic", "0 s"), ("cubic", "1 s")),
        _shared("three", "250 kB", ("reno", "0 s"), ("cubic", "1 s"), ("bbr", "2 s")),
        _drawn("unequal", pieces.GEO + far + _NOISE),
        Case("shared-dvb", _dvb('"rbdc"') + dvb, "60 s", tolerance=0.15, quantities=("goodput",)),
    )


def _varies(name: str, seeds: int) -> bool:
    """Returns true if single runs of a congestion control vary by chance under a condition of so
    many seeds."""
    return name in _RANDOM_NAMES or (name == "hybla" and seeds > 1)


def variant_cases(
    names: Iterable[str], parameters: Mapping[str, str] = MappingProxyType({}), more: str = ""
) -> tuple[Case, ...]:
    """Returns the cases of congestion controls under every condition.

    The tolerances are 10 % for goodput (15 % with loss), 20 % for the time to fill the pipe, and 25
    % for retransmissions.
    """
    return tuple(
        Case(
            f"{condition}-{name}",
            text
            + pieces.flow(
                "f",
                *(("st1", "gw") if condition.startswith("dvb") else ("user", "server")),
                '"bulk"',
                f'{{ kind = "tcp", congestion = "{name}", {more}parameters = {{ {parameters.get(name, "")} }} }}',
                # Avoids a SYN at the start of the first superframe, at 0, where microseconds would
                # matter.
                *(['start = "50 ms"'] if condition.startswith("dvb") else []),
            ),
            "30 s",
            (_RUNS_OF_HYBLA if name == "hybla" else _RUNS) if _varies(name, seeds) else seeds,
            tolerance,
            {"filled": Exemption(0.20, ""), "retransmissions": Exemption(0.25, "")},
            quantities=quantities,
            varies=_varies(name, seeds),
        )
        for name in names
        for condition, (text, seeds, tolerance, quantities) in _CONDITIONS.items()
    )
