"""The compiled engine. It exchanges JSON texts, which bentpipe's Python modules convert to
objects."""

from collections.abc import Callable, Sequence
from typing import NoReturn, TypedDict

class Problem(TypedDict):
    """One problem of a scenario; unknown fields are None.

    ``file`` is the file's name, ``preset NAME`` or ``--set KEY.PATH``; ``path`` the key path,
    ``value`` the value as written, ``allowed`` the names to choose from or a description of the
    range, ``nearest`` the name that was probably meant.
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
    """A scenario was refused. Its text is the complete message of one or more lines."""

    problems: list[Problem]

def allow_code(allowed: bool) -> None: ...
def register_congestion(name: str, made: type) -> None: ...

class Scenario:
    """A scenario that was read, overridden, resolved and validated once."""

    def __init__(
        self, source: str | None, text: str | None, overrides: Sequence[str | tuple[str, str]]
    ) -> None:
        """Resolves a scenario.

        ``source`` is the path to read, or only the name to use in messages when ``text`` is given;
        ``overrides`` are ``key.path=value``; a table is merged into an existing table. Raises
        :class:`ScenarioError`.
        """

    def data(self) -> str:
        """Returns the scenario as JSON with every default explicit, without its campaign."""

    def toml(self) -> str:
        """Returns the scenario as TOML, like :meth:`data`."""

    def campaign(self) -> str | None:
        """Returns the table ``campaign`` as a TOML document."""

    def members(self) -> str:
        """Returns ``{"flows": [...], "links": [...], "attached": {...}}`` as JSON: members in place
        of groups, and the nodes of each network."""

    def nodes(self) -> list[str]: ...
    def stages(self) -> int:
        """Builds the network and returns the number of its stages."""

    def warnings(self) -> list[str]: ...
    def memory(self) -> str:
        """Returns ``{"bytes": N, "largest": "..." or null}`` as JSON: the memory of an emulation
        with full links."""

    def facts(self) -> str:
        """Returns the paths of the flows, as JSON of :class:`bentpipe.scenario.facts.Facts`."""

    def picture(self) -> str:
        """Returns the nodes and edges of a picture of the network, as JSON."""

    def check_simulated(self) -> None:
        """Raises :class:`ScenarioError` if the scenario cannot be simulated."""

    def check_emulated(self) -> None:
        """Raises :class:`ScenarioError` if the scenario cannot be emulated."""

    def simulated_only(self) -> str:
        """The parts that an emulation does not apply, as JSON: flows with the keys that no kernel
        applies, and the key paths that an emulation refuses."""

    def refuse(self, path: list[str], message: str) -> None:
        """Raises :class:`ScenarioError` for a value, with its position; ``message`` may end with
        ``; allowed: ...``."""

def budgets(scenario: Scenario) -> str:
    """Returns the link budgets of a scenario's networks, as a JSON list of ``{"network",
    "direction", "budget"}``."""

def budget_of(rows: str, margin_db: float) -> str:
    """Returns a link budget of comma-separated rows, as JSON. Raises ``ValueError`` with the line
    that is wrong."""

def simulate(
    scenario: Scenario,
    run: int,
    out: str,
    options_json: str,
    progress: Callable[[float], bool] | None,
    watch: Callable[[str], list[tuple[str, str]]] | None,
) -> str:
    """Runs a scenario in virtual time and writes the run folder ``out``, without the GIL.

    ``progress`` is called with the fraction done, 0 to 1, about ten times a second of real time,
    and returns False to stop. The folder is then readable and marked incomplete. Returns the
    summary as JSON. Raises :class:`ScenarioError`, or ``OSError`` if the folder cannot be written.
    ``options_json`` is a JSON object with ``command``, the words of the command line, and
    ``started``, the time in UTC in RFC 3339 format, both for the provenance, and ``pace``, seconds
    of the scenario per second of real time; all are optional.

    ``watch`` is called at the same times with a JSON object. ``rows`` are the rows of the traces
    since the last call, by table and entity, each with the time in seconds and the values.
    ``dropped`` is the number of rows that did not fit. ``changes`` are the outcomes of the changes
    that the last call requested (key, value, time in s or null, refused: a text or null). ``watch``
    returns the changes to make now, as keys and values of overrides.
    """

def emulate(
    scenario: Scenario,
    run: int,
    out: str,
    options_json: str,
    progress: Callable[[float], bool] | None,
    watch: Callable[[str], list[tuple[str, str]]] | None,
) -> str:
    """Runs a scenario in real time with real hosts and writes the run folder ``out``, without the
    GIL.

    Like :func:`simulate`. ``options_json`` may contain ``allow_commands`` and ``in_memory`` (models
    instead of hosts). Raises :class:`bentpipe.InputError` for commands that were not allowed, and
    ``OSError`` with a remedy if the machine lacks a requirement.
    """

def emulate_in_guest(
    scenario: Scenario,
    run: int,
    out: str,
    options_json: str,
    guest_json: str,
    progress: Callable[[float], bool] | None,
) -> str:
    """Emulates like :func:`emulate`, but in a guest: a Linux kernel that runs in virtual time as a
    process of this machine, without root.

    ``guest_json`` is a JSON object with ``kernel`` (the program), ``init`` (the guest's first
    process and its arguments, which calls :func:`live_in_guest`), ``memory_mb``, ``epoch`` (its
    time of day at the start in nanoseconds of Unix time), ``path`` (the search path of programs)
    and ``about``, for the provenance.
    """

def live_in_guest() -> NoReturn:
    """Acts as the first process of a guest: reads a job from the console, runs it, and turns the
    guest off."""

def processor_state_bytes() -> int | None:
    """Returns the bytes of this processor's state beyond the general registers, as the kernel saves
    it (CPUID leaf 0xD); None for a processor that is not x86-64."""

class Network:
    """An emulated network, which is up until it is stopped or this process ends. Methods release
    the GIL."""

    def __init__(
        self,
        scenario: Scenario,
        options_json: str,
    ) -> None:
        """Creates the hosts and starts the clock.

        ``options_json`` is a JSON object with ``hosts`` (names of nodes; all by default), ``mtu``
        (bytes), ``internet`` (the host behind which the machine's network begins) and ``rules``
        (the name of the machine's nftables table for it). Raises :class:`ScenarioError`, or
        ``OSError`` with what is missing and a remedy.
        """

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts."""

    def describe(self) -> str:
        """Returns what other processes need to reach the hosts, as JSON: ``hosts`` (by name:
        ``ipv4``, ``ipv6``, ``namespace``, ``inode``), ``scheduling``, ``interface``,
        ``switched_forwarding``."""

    def run(
        self,
        host: str,
        argv: list[str],
        files: list[tuple[str, str]],
        environment: list[tuple[str, str]],
        started: Callable[[int], object] | None,
    ) -> int:
        """Runs a program in a host and waits for it. Returns its exit code, or 128 plus the signal
        that killed it.

        ``files`` are pairs of a file and the path at which the program sees it; ``started`` is
        called with its process number. The program is killed when this process dies.
        """

    def status(self) -> str:
        """Returns the current state of the network as JSON: ``time``, ``rows`` (table, entity,
        values), ``packets``, ``lost``, ``late`` (s)."""

    def change(self, key: str, value: str) -> None:
        """Changes the value of a scenario key from now on, both written as in an override. Raises
        :class:`ScenarioError` without any change if they are invalid or the key cannot change."""

    def stop(self) -> None:
        """Stops the network."""

def exec_in_host(
    owner: int,
    namespace: str,
    argv: list[str],
    files: list[tuple[str, str]],
    environment: list[tuple[str, str]],
) -> None:
    """Replaces this process by a program in a host of a network of process ``owner``; returns only
    by raising ``OSError``."""

def enter_user_namespace() -> bool:
    """Makes sure that this process may create networks. Returns true if it entered a user namespace
    for this purpose.

    Call it before there is a second thread. Raises ``OSError`` if the kernel does not allow it.
    """

def remove_internet_rules(table: str, switched_forwarding: bool) -> None:
    """Removes the rules for Internet access of a network whose process was killed."""

def run_agent(config_json: str, ready: Callable[[list[str]], object], stopped: Callable[[], bool]) -> str:
    """Runs a bundle agent until ``stopped()`` is true; returns its counts as JSON.

    ``ready`` is called with the addresses on which it listens, TCP first. Raises InputError for
    errors that the caller can fix, and OSError for errors of the machine.
    """

def send_bundles(
    layer: str,
    address: str,
    source: str,
    destination: str,
    payloads: list[bytes],
    copies: int,
    lifetime: float,
    hops: int | None,
    report: str | None,
    patience: float,
    keys_json: str,
) -> int:
    """Sends ``copies`` bundles of each payload. Returns the number of bundles that the agent
    accepted (TCPCL) or that were sent (other layers).

    ``keys_json`` has the keys ``integrity`` and ``confidentiality`` in hexadecimal digits, or null.
    Times are in seconds. Raises InputError for an invalid endpoint, and OSError if the agent cannot
    be reached.
    """

def run_pep(config_json: str) -> None:
    """Runs a performance-enhancing proxy in this network namespace until SIGTERM or SIGINT, without
    the GIL.

    ``config_json`` is a JSON object with the options of ``bentpipe machine pep``, underscores for
    hyphens, and ``workers`` for ``threads``. Forks, so call it before there is a second thread.
    Raises :class:`bentpipe.InputError` for an invalid option, and ``OSError`` with what is missing.
    """

def remove_pep() -> bool:
    """Removes the remains of a killed proxy from this network namespace. Returns true if there were
    any.

    Raises ``OSError`` while a proxy runs.
    """

def examine() -> str:
    """Checks whether this machine can emulate. Returns JSON: ``possible`` and ``findings``
    (``what``, ``status``: ok, limited or missing, ``needed``, ``found``, ``remedy``).

    Call it before there is a second thread: without root it enters a user namespace.
    """

def calibrate() -> str:
    """Measures the performance of this machine, in some ten seconds, without the GIL. Returns JSON.

    ``small_packets_per_s``, ``full_packets_per_s``, ``lateness``, ``wakeups``, ``added_delay``
    (``count``, ``p50_s``, ``p99_s``, ``max_s``), ``valid_rate`` (bit/s or null), ``refused``
    (``rate``, ``reasons``), ``engine``. Call it before there is a second thread. Raises ``OSError``
    if emulation is impossible.
    """

def constellation(
    scenario: Scenario,
    network: str,
    times: list[float],
) -> str:
    """Returns a constellation of a scenario at ``times``, in seconds and in ascending order, as
    JSON of :class:`bentpipe.scenario.constellations.Constellation`."""

def forwarding(
    scenario: Scenario,
    network: str,
    times: list[float],
) -> str:
    """Returns the forwarding state of a scenario's constellation at ``times``, in seconds and
    ascending order, as text."""

def in_sight(
    element_sets: str,
    sites: list[tuple[float, float, float]],
    start: str,
    times: list[list[float]],
    mask: float,
) -> list[list[tuple[str, list[list[tuple[float, float, float]]]]]]:
    """Returns, for each list of ``times`` (s), the satellites that all sites see above ``mask``
    (deg) at its middle one: name, and for each site and time elevation and azimuth (deg) and range
    (m)."""

def looks(
    element_sets: str,
    sites: list[tuple[float, float, float]],
    start: str,
    times: list[float],
    ut1_minus_utc: float,
) -> list[list[list[tuple[float, float, float, float]]]]:
    """Returns elevation and azimuth (deg), range (m) and range rate (m/s), for each site (latitude
    and longitude in deg, height in m), for each satellite, for each time in ``times`` (s)."""

def passes(
    element_sets: str,
    sites: list[tuple[float, float, float]],
    start: str,
    seconds: float,
    mask: float,
    ut1_minus_utc: float,
) -> list[list[list[tuple[float, float]]]]:
    """Returns the windows in which each site sees each satellite above ``mask`` (deg): rise and set
    in seconds."""

def schema() -> str:
    """Returns the JSON Schema of scenarios."""

def units() -> dict[str, dict[str, float]]:
    """Returns the units of quantities by base unit, each with its size in the base unit."""

def presets() -> list[tuple[str, str, str]]:
    """Returns name, description and TOML text of each preset."""

def tables() -> str:
    """Returns JSON: ``{"traces": [...], "reports": [...]}``, each table with its columns, units and
    descriptions."""

def variants() -> str:
    """Returns the compiled-in congestion controls as JSON."""

def voice() -> str:
    """Returns JSON: ``{"symbols": [...], "codecs": [...]}``, the parameters of the E-model and the
    speech codecs."""

def emodel(values: Sequence[tuple[str, float]]) -> str:
    """Rates a call by the E-model (G.107).

    ``values`` are symbols of the recommendation with their values. Returns JSON: the parts of the
    rating by their symbols, ``without_advantage``, ``category``, and ``beyond``, a text for each
    value outside the range of the recommendation. Raises :class:`KeyError` for a symbol that does
    not exist and :class:`ValueError` for a value for which the equations are not defined.
    """

def hear(codec: str, packets: Sequence[tuple[int, float]]) -> str:
    """Returns the losses, delays and rating of a stream of RTP packets at the listener, as JSON.

    The keys are ``expected``, ``lost``, ``late``, ``loss`` (per cent), ``burst_ratio``, ``jitter``,
    ``jitter_max``, ``delay`` (mouth to ear, s), ``buffering``, ``ie_eff``, ``r`` and ``mos``;
    values that are not numbers are null.

    ``packets`` are numbers and arrivals in seconds after the first sample was spoken, in the order
    of arrival. Raises ``KeyError`` for an unknown codec and ``ValueError`` for an arrival that is
    not a time.
    """

def version() -> str:
    """Returns the engine's version."""

class ContactPlan:
    """A contact plan in any format. ``name`` is for messages; with ``skip_impossible``, contacts
    that do not end after their start are skipped. Raises :class:`bentpipe.InputError` with all
    errors, line by line."""

    def __init__(self, name: str, text: str, skip_impossible: bool) -> None: ...
    def describe(self) -> str:
        """Returns the nodes, the contacts and the number of skipped contacts, as JSON."""

    def routes(
        self, source: str, destination: str, at: str, size: int, most: int, without: Sequence[str]
    ) -> str:
        """Returns up to ``most`` routes of a bundle, the best first, as a JSON list."""

class TcpLog:
    """The kernel's log of the TCP connections of a network namespace, given by the inode number of
    its file; it ends with the object. Raises :class:`OSError` with the reason if BPF cannot be
    used."""

    def __init__(self, namespace: int) -> None: ...
    def poll(self, timeout: float) -> list[tuple[int, int, list[float]]]:
        """Returns the rows since the last call, waiting at most ``timeout`` seconds for the first:
        nanoseconds by CLOCK_MONOTONIC, the socket's cookie (SO_COOKIE), and the values of the trace
        `tcp` in the order of its columns, NaN for null."""

    def lost(self) -> int:
        """Returns the number of events lost because :meth:`poll` was not called often enough."""

def explain_query(
    scenario: Scenario,
    flow: str | None,
    query: str | None,
    placement: str | None,
) -> str:
    """Returns the plan of a sensor network's query as JSON: nodes, operators, channels, costs,
    columns. Raises :class:`bentpipe.InputError` for a query that is refused."""

class SensorSink:
    """A sink with its motes. The caller passes the time in nanoseconds; see
    crates/py/src/sensors.rs."""

    def __init__(
        self,
        scenario: Scenario,
        flow: str | None,
    ) -> None: ...
    def query(self) -> str:
        """Returns the query of the scenario."""

    def begin(self, now: int, query: str) -> list[str]:
        """Begins a query and returns the names of its columns. Raises
        :class:`bentpipe.InputError`."""

    def end(self) -> None:
        """Ends the running query."""

    def next_wake(self) -> int | None:
        """Returns the time of the next event."""

    def wake(self, now: int) -> list[tuple[int, list[str]]]:
        """Returns the rows that have reached the sink: the time of the latest sample, and the
        values as texts."""

    def counts(self) -> tuple[int, int]:
        """Returns the frames and bytes on the motes' channel so far."""

class SipAgent:
    """A SIP user agent over UDP. The caller passes the time in nanoseconds; see
    crates/py/src/telephone.rs."""

    def __init__(self, user: str, listens: str, seed: int) -> None: ...
    def invite(self, now: int, user: str, uri: str, to: str, body: str) -> int:
        """Calls ``uri`` through the address ``to`` with a session description; returns the call."""

    def ring(self, now: int, call: int) -> None:
        """Informs the caller that the telephone rings."""

    def answer(self, now: int, call: int, body: str) -> None:
        """Answers a call with a session description."""

    def refuse(self, now: int, call: int, status: int) -> None:
        """Refuses a call with a status of 300 to 699."""

    def hang_up(self, now: int, call: int) -> None:
        """Ends a call in any state."""

    def register(self, now: int, to: str, seconds: int) -> None:
        """Registers with the registrar at an address."""

    def receive(self, now: int, sender: str, data: bytes) -> None:
        """Handles a datagram from ``sender``, an address and a port."""

    def wake(self, now: int) -> None:
        """Acts on timers that have expired."""

    def next_wake(self) -> int | None:
        """Returns the time at which :meth:`wake` is to be called next, or None for never."""

    def registered(self, now: int, user: str) -> tuple[str, str] | None:
        """Returns contact and address of a registered user."""

    def take(self) -> tuple[list[tuple[str, bytes]], list[str]]:
        """Returns datagrams to send, with their destinations, and events as JSON."""

class IaxExchange:
    """One end of IAX2. The caller passes the time in nanoseconds; see
    crates/py/src/telephone.rs."""

    def __init__(self) -> None: ...
    def call(self, now: int, peer: str, to: str, user: str, encoding: str) -> int | None:
        """Places a call from ``user`` to the number ``to`` at an address; None if all numbers of
        calls are in use."""

    def choose(self, call: int, encoding: str) -> None:
        """Chooses the codec of an incoming call by its name in RTP."""

    def ring(self, now: int, call: int) -> None:
        """Informs the caller that the telephone rings."""

    def answer(self, now: int, call: int) -> None:
        """Answers a call."""

    def refuse(self, now: int, call: int, cause: int) -> None:
        """Refuses a call with a cause of Q.931."""

    def hang_up(self, now: int, call: int) -> None:
        """Ends a call in any state."""

    def register(self, now: int, call: int, user: str, seconds: int, date: int) -> None:
        """Confirms a registration."""

    def voice(self, now: int, call: int, payload: bytes) -> None:
        """Sends speech."""

    def receive(self, now: int, sender: str, data: bytes) -> None:
        """Handles a datagram from ``sender``, an address and a port."""

    def wake(self, now: int) -> None:
        """Acts on timers that have expired."""

    def next_wake(self) -> int | None:
        """Returns the time at which :meth:`wake` is to be called next, or None for never."""

    def take(self) -> tuple[list[tuple[str, bytes]], list[str], list[tuple[int, int, bytes]]]:
        """Returns datagrams to send, events as JSON, and speech: call, time stamp in ms, encoded
        speech."""

def session_description(host: str, port: int, encodings: Sequence[str]) -> str:
    """Returns a session description (SDP) that expects media at this address in these encodings."""

def draw_outcomes(scenario: Scenario, frames: int, interval: float, size: int, seed: int) -> bytes:
    """Draws outcomes of frames from the error process of a scenario's first link: a byte per frame,
    1 for a lost frame.

    Frames of ``size`` bytes arrive every ``interval`` seconds. Raises :class:`ScenarioError`.
    """

class FrameRuns:
    """Outcomes of frames, a byte per frame (0 is received, anything else lost), as runs of the same
    outcome."""

    def __init__(self, outcomes: bytes) -> None: ...
    def expected(
        self, transitions: Sequence[Sequence[float]], loss: Sequence[float]
    ) -> tuple[float, list[list[float]], list[list[float]]] | None:
        """Returns the expectations for a Markov chain given the outcomes: log-likelihood,
        transitions, and received and lost frames by state; ``None`` if the chain cannot have
        produced the outcomes."""
