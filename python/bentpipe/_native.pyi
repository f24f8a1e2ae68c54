"""The compiled engine. Texts of JSON cross the border, so that nothing is described twice: bentpipe's Python modules
turn them into objects."""

from collections.abc import Callable, Sequence
from typing import NoReturn, TypedDict

class Problem(TypedDict):
    """One thing that is wrong with a scenario; what is not known is None.

    ``file`` is the file's name, ``preset NAME`` or ``--set N``; ``path`` the key path, ``value`` the value as written,
    ``allowed`` the names to choose from or a description of the range, ``nearest`` the name that was probably meant.
    """

    file: str
    line: int | None
    column: int | None
    path: str
    value: str | None
    message: str
    allowed: list[str]
    nearest: str | None

class ScenarioError(ValueError):
    """A scenario that is refused; as text, the ready message of one or more lines."""

    problems: list[Problem]

def load(source: str | None, text: str | None, overrides: Sequence[str | tuple[str, str]]) -> str:
    """Read, override, resolve and validate a scenario.

    ``source`` is the path to read, or only the name to use in messages when ``text`` is given; ``overrides`` are
    ``key.path=value``, where a table is laid over the one that is there. Returns JSON with every default explicit:
    ``{"scenario": {...}, "toml": "...", "campaign": "..." or null, "nodes": [...], "stages": N, "warnings": [...]}``;
    what it says of a campaign is TOML of its own and no part of the resolved scenario. Raises :class:`ScenarioError`.
    """

def facts(source: str | None, text: str | None, overrides: Sequence[str | tuple[str, str]]) -> str:
    """What a scenario says about the paths of its flows, as JSON of :class:`bentpipe.facts.Facts`; arguments and
    errors as of :func:`load`."""

def refuse(
    source: str | None,
    text: str | None,
    overrides: Sequence[str | tuple[str, str]],
    path: list[str],
    message: str,
) -> None:
    """Raise :class:`ScenarioError` for what is wrong with a value of a scenario, with its place there; ``message``
    may end with ``; allowed: ...``."""

def simulate(
    source: str | None,
    text: str | None,
    overrides: Sequence[str | tuple[str, str]],
    seed: int | None,
    run: int,
    out: str,
    options_json: str,
    progress: Callable[[float], bool] | None,
) -> str:
    """Run a scenario in virtual time and write the run folder ``out``, without the GIL.

    ``progress`` is told the fraction done, 0 to 1, about ten times a second of real time, and returns False to stop:
    the folder is then closed properly and marked incomplete. Returns the summary as JSON. Raises
    :class:`ScenarioError`, or ``OSError`` where the folder cannot be written. ``options_json`` is a JSON object with
    ``command``, the words of the command line, and ``started``, the time in UTC as of RFC 3339; both for the
    provenance, both optional.
    """

def emulate(
    source: str | None,
    text: str | None,
    overrides: Sequence[str | tuple[str, str]],
    run: int,
    out: str,
    options_json: str,
    progress: Callable[[float], bool] | None,
) -> str:
    """Run a scenario in real time with real hosts and write the run folder ``out``, without the GIL.

    As :func:`simulate`; the seed is the scenario's. ``options_json`` may say ``allow_commands`` and ``in_memory``
    (models instead of hosts). Raises :class:`bentpipe.InputError` for commands that were not allowed, and ``OSError``
    with a remedy for what the machine does not give.
    """

def emulate_in_guest(
    source: str | None,
    text: str | None,
    overrides: Sequence[str | tuple[str, str]],
    run: int,
    out: str,
    options_json: str,
    guest_json: str,
    progress: Callable[[float], bool] | None,
) -> str:
    """The same in a guest: a Linux kernel that runs as a process of this machine, in virtual time, without root.

    ``guest_json`` is a JSON object with ``kernel`` (the program), ``init`` (the guest's first process and its
    arguments, which calls :func:`live_in_guest`), ``memory_mb``, ``epoch`` (its time of day at the start in
    nanoseconds of Unix time), ``path`` (where to look for programs) and ``about``, for the provenance.
    """

def live_in_guest() -> NoReturn:
    """Be the first process of a guest: read a job from the console, run it, and turn the guest off."""

def processor_state_bytes() -> int | None:
    """Bytes of this processor's state beyond the general registers, as the kernel saves it (CPUID leaf 0xD); None for a
    processor that is not x86-64."""

class Network:
    """An emulated network: it lives until it is stopped or this process ends. Methods work without the GIL."""

    def __init__(
        self,
        source: str | None,
        text: str | None,
        overrides: Sequence[str | tuple[str, str]],
        options_json: str,
    ) -> None:
        """Make the hosts and let time begin.

        ``options_json`` is a JSON object with ``hosts`` (names of nodes; all when not given), ``mtu`` (bytes),
        ``internet`` (the host behind which the machine's network begins) and ``rules`` (the name of the machine's
        nftables table for it). Raises :class:`ScenarioError`, or ``OSError`` with what is missing and a remedy.
        """

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts."""

    def describe(self) -> str:
        """What others have to know to reach the hosts, as JSON: ``hosts`` (by name: ``ipv4``, ``ipv6``, ``namespace``,
        ``inode``), ``scheduling``, ``interface``, ``switched_forwarding``."""

    def run(
        self,
        host: str,
        argv: list[str],
        files: list[tuple[str, str]],
        environment: list[tuple[str, str]],
        started: Callable[[int], object] | None,
    ) -> int:
        """Run a program in a host and wait: its exit code, 128 plus the signal for one that was killed.

        ``files`` are pairs of what it sees and in place of what; ``started`` is told its process number. The program is
        killed when this process dies.
        """

    def status(self) -> str:
        """What the network says of itself at this moment, as JSON: ``time``, ``rows`` (table, entity, values),
        ``packets``, ``lost``, ``late`` (s)."""

    def change(self, key: str, value: str) -> None:
        """Set a key of the scenario to another value from now on, both as an override has them. Raises
        :class:`ScenarioError` for what is wrong with them or cannot change; nothing has changed then."""

    def stop(self) -> None:
        """End it."""

def exec_in_host(
    owner: int,
    namespace: str,
    argv: list[str],
    files: list[tuple[str, str]],
    environment: list[tuple[str, str]],
) -> None:
    """Become a program in a host of a network that process ``owner`` keeps; returns only by raising ``OSError``."""

def enter_user_namespace() -> bool:
    """Make sure that this process may make networks: as it is (False), or in a user namespace of its own (True).

    Call it before there is a second thread. Raises ``OSError`` where the kernel does not allow it.
    """

def remove_internet_rules(table: str, switched_forwarding: bool) -> None:
    """Remove the rules of a way to the Internet whose process was killed."""

def run_pep(config_json: str) -> None:
    """Run a performance-enhancing proxy in this network namespace until SIGTERM or SIGINT, without the GIL.

    ``config_json`` is a JSON object with the options of ``bentpipe pep``, underscores for hyphens. Forks, so call it
    before there is a second thread. Raises :class:`bentpipe.InputError` for an option that cannot be, and ``OSError``
    with what is missing.
    """

def remove_pep() -> bool:
    """Remove what a proxy that was killed has left in this network namespace; say whether there was something.

    Raises ``OSError`` while one runs.
    """

def examine() -> str:
    """What this machine offers to an emulation, as JSON: ``possible`` and ``findings`` (``what``, ``status``: ok,
    limited or missing, ``needed``, ``found``, ``remedy``).

    Call it before there is a second thread: without root it enters a user namespace.
    """

def calibrate() -> str:
    """Measure what this machine can do, in some ten seconds, without the GIL; as JSON.

    ``small_packets_per_s``, ``full_packets_per_s``, ``lateness``, ``wakeups``, ``added_delay`` (``count``, ``p50_s``,
    ``p99_s``, ``max_s``), ``valid_rate`` (bit/s or null), ``refused`` (``rate``, ``reasons``), ``engine``. Call it
    before there is a second thread. Raises ``OSError`` where emulation is impossible.
    """

def constellation(
    source: str | None,
    text: str | None,
    overrides: Sequence[str | tuple[str, str]],
    network: str,
    times: list[float],
) -> str:
    """A constellation of a scenario at the seconds ``times``, which do not go back; as JSON what
    :class:`bentpipe.constellations.Constellation` has."""

def forwarding(
    source: str | None,
    text: str | None,
    overrides: Sequence[str | tuple[str, str]],
    network: str,
    times: list[float],
) -> str:
    """The forwarding state of a scenario's constellation at the seconds ``times``, which do not go back, as text."""

def looks(
    element_sets: str,
    sites: list[tuple[float, float, float]],
    start: str,
    times: list[float],
    ut1_minus_utc: float,
) -> list[list[list[tuple[float, float, float, float]]]]:
    """What sites (latitude and longitude in deg, height in m) see of satellites at the seconds ``times``: site by site,
    satellite by satellite, moment by moment elevation and azimuth (deg), range (m) and range rate (m/s)."""

def passes(
    element_sets: str,
    sites: list[tuple[float, float, float]],
    start: str,
    seconds: float,
    mask: float,
    ut1_minus_utc: float,
) -> list[list[list[tuple[float, float]]]]:
    """The windows in which each site sees each satellite above ``mask`` (deg): rise and set in seconds."""

def schema() -> str:
    """The scenario's JSON Schema."""

def presets() -> list[tuple[str, str, str]]:
    """Name, what it is, and TOML text of each preset."""

def tables() -> str:
    """JSON: ``{"traces": [...], "reports": [...]}``, each table with its columns, units and descriptions."""

def variants() -> str:
    """JSON: the congestion control variants that are compiled in."""

def version() -> str:
    """The engine's version."""
