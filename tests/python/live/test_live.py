"""Live networks from a user's view: run, shell, up, ps, exec, watch, down. Each test removes
everything it creates."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bentpipe.live import processes, target
from rigs.networks import LINK, START, Bentpipe, Machine, clear, namespace_of, needs, networks, until

pytestmark = [networks, needs("ping"), pytest.mark.quiet]


def rtts_ms(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"time=([0-9.]+) ms", text)]


def test_ping_takes_twice_the_delay_and_what_the_packet_takes_at_the_rate(bentpipe: Bentpipe) -> None:
    bentpipe("net", "up", "geo", *LINK)
    rtts = rtts_ms(bentpipe("net", "exec", "user", "--", "ping", "-c", "20", "-i", "0.05", "server"))
    late = json.loads(bentpipe("net", "watch", "--once", "--json"))["late"]
    expected = 40 + 2 * 84 * 8 / 20_000
    assert len(rtts) == 20
    # Median, because the machine schedules the programs at the ends.
    assert 0 <= sorted(rtts)[10] - expected < max(2.0, 2000 * late["p99"])
    # IPv6 has a separate name.
    assert rtts_ms(bentpipe("net", "exec", "user", "--", "ping", "-c", "1", "ip6-server"))


def test_addresses_are_settled_when_a_network_is_up(bentpipe: Bentpipe) -> None:
    # Programs that monitor addresses, such as browsers, would take a later change for another
    # network.
    bentpipe("net", "up", "geo", *LINK)
    for host in ("user", "server"):
        addresses = bentpipe("net", "exec", host, "--", "ip", "address", "show", "dev", "sat0")
        assert "inet " in addresses and "tentative" not in addresses, addresses


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -TERM $$"], 143),
        (["no-such-command"], 127),
        (["/no/such/command"], 127),
        (["/etc/hosts"], 126),
        (["/etc"], 126),
    ],
)
def test_exit_codes_are_those_of_a_shell(bentpipe: Bentpipe, command: list[str], code: int) -> None:
    assert bentpipe.done("run", "geo", "--", *command).returncode == code
    assert bentpipe.left() == []


def test_streams_are_the_commands_own(bentpipe: Bentpipe) -> None:
    assert bentpipe("run", "geo", "--", "cat", given="what goes in\n") == "what goes in\n"
    done = bentpipe.done("run", "geo", "--", "sh", "-c", "echo out; echo err >&2")
    assert (done.stdout, done.stderr) == ("out\n", "err\n")
    # Words after the first -- are not parsed.
    assert bentpipe("run", "geo", "--", "echo", "--set", "--", "-h") == "--set -- -h\n"


#: A shell that reports when it is ready.
TERMINAL = {"SHELL": "/bin/sh", "PS1": "prompt> "}


def in_terminal(
    bentpipe: Bentpipe, *arguments: object, typed: Callable[[str], bytes | None]
) -> tuple[str, int]:
    """Returns the output on a terminal and the exit status; ``typed`` gets the output and returns
    the next input."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(sys.executable, bentpipe.words(*arguments), bentpipe.variables() | TERMINAL)
    text, end = "", time.monotonic() + 30
    with contextlib.suppress(OSError):
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                text += os.read(terminal, 4096).decode()
            if (words := typed(text)) is not None:
                os.write(terminal, words)
        os.kill(pid, signal.SIGKILL)
    os.close(terminal)
    return text, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def once(mark: str, words: bytes) -> Callable[[str], bytes | None]:
    """Returns a function that types a text once a word has appeared."""
    typed: list[bool] = []

    def answer(text: str) -> bytes | None:
        if mark in text and not typed:
            typed.append(True)
            return words
        return None

    return answer


def test_a_terminal_is_the_commands_own_and_so_is_ctrl_c(bentpipe: Bentpipe) -> None:
    script = 'test -t 0 && test -t 1 && trap "echo caught; exit 42" INT && echo rea""dy && while :; do sleep 0.05; done'
    text, code = in_terminal(bentpipe, "run", "geo", "--", "sh", "-c", script, typed=once("ready", b"\x03"))
    assert ("caught" in text, code) == (True, 42), text
    script = 'echo rea""dy && exec sleep 30'
    _, code = in_terminal(bentpipe, "run", "geo", "--", "sh", "-c", script, typed=once("ready", b"\x03"))
    assert code == 130
    assert bentpipe.left() == []


def test_a_shell_is_the_users_and_knows_where_it_is(bentpipe: Bentpipe) -> None:
    text, code = in_terminal(
        bentpipe,
        "shell",
        "geo",
        "--host",
        "server",
        typed=once("prompt> ", b'echo "at $BENTPIPE_HOST of $BENTPIPE_RUN: $BENTPIPE_HOSTS"; exit 5\n'),
    )
    assert "at server of geo: server=198.18.0.1 user=198.18.0.2" in text
    assert code == 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_that_end_us_are_passed_on(bentpipe: Bentpipe, number: signal.Signals) -> None:
    script = 'trap "exit 43" TERM HUP INT; echo ready; while :; do sleep 0.05; done'
    process = bentpipe.begin("run", "geo", "--", "sh", "-c", script, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.wait(20) == 43
    process.stdout.close()
    assert bentpipe.left() == []


def test_what_does_not_listen_is_killed(bentpipe: Bentpipe) -> None:
    script = 'trap "" TERM HUP; echo ready; while :; do sleep 0.05; done'
    process = bentpipe.begin("run", "geo", "--", "sh", "-c", script, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.terminate()
    assert process.wait(20) == 137
    process.stdout.close()
    # The same in a network that stays up; processes that a command leaves behind end with its
    # network.
    bentpipe("net", "up", "geo")
    bentpipe("net", "exec", "user", "--", "sh", "-c", f"({script}) >/dev/null 2>&1 &")
    (record,) = bentpipe.records()
    bentpipe("net", "down")
    assert bentpipe.processes() == {}
    assert processes.started(record["pid"]) is None


def test_networks_nest_and_their_delays_add(bentpipe: Bentpipe) -> None:
    # The same words find commands of the inner network; the outer host's name still leads to it.
    inner = [
        *START,
        "run",
        "wifi-loss",
        "--set",
        "link.wifi.error.probability=0",
        "--",
        "ping",
        "-c",
        "5",
        "server",
    ]
    text = bentpipe("run", "leo", "--set", "link.sat.error.probability=0", *RETURN, "--", *inner)
    rtts = rtts_ms(text)
    assert len(rtts) == 5
    assert min(rtts) == pytest.approx(44, abs=2)


@needs("getent")
def test_names_of_a_network_that_cannot_be_reached_are_not_known_in_it(bentpipe: Bentpipe) -> None:
    inner = [*START, "run", "wifi-loss", "--no-internet", "--", "getent", "hosts"]
    assert bentpipe.done("run", "geo", "--", *inner, "server").returncode == 2
    assert "access-point" in bentpipe("run", "geo", "--", *inner, "access-point")


RETURN = ["--set", "link.sat.return.error.probability=0"]


def test_two_networks_at_once_have_names_and_delays_of_their_own(bentpipe: Bentpipe) -> None:
    bentpipe("net", "up", "geo", *LINK, "--name", "one")
    bentpipe("net", "up", "geo", "--set", "link.sat.delay=60 ms")
    listed = {run["run"]: run for run in json.loads(bentpipe("net", "ps", "--json"))}
    assert set(listed) == {"one", "geo"} and all(run["alive"] for run in listed.values())
    ping = ["--", "ping", "-c", "3", "-i", "0.2", "server"]
    assert min(rtts_ms(bentpipe("net", "exec", "one", "user", *ping))) == pytest.approx(40, abs=2)
    assert min(rtts_ms(bentpipe("net", "exec", "geo", "user", *ping))) == pytest.approx(120, abs=2)
    assert "one" in bentpipe("net", "exec", "user", *ping, code=2)
    assert "choose another name" in bentpipe("net", "up", "geo", "--name", "one", code=2)
    bentpipe("net", "down", "one")
    assert "did you mean" not in bentpipe("net", "exec", "one", "user", *ping, code=2)
    bentpipe("net", "exec", "user", *ping)


def test_flows_that_are_simulated_run_in_it_and_need_no_hosts(bentpipe: Bentpipe, tmp_path: Path) -> None:
    file = tmp_path / "crowd.toml"
    file.write_text(
        'name = "crowd"\nduration = "1 h"\n'
        '[network.sat]\nkind = "dvb-rcs"\npropagation = "10 ms"\nforward = { rate = "10 Mbit/s" }\ngateway = "gw"\n'
        'terminals = [{ name = "st", count = 20 }]\n'
        '[network.sat.return]\nrate = "2048 kbit/s"\nslots_per_frame = 32\nframe = "23.5 ms"\n'
        "frames_per_superframe = 4\n"
        '[network.sat.return.dama]\nscheme = "rbdc"\nresponse = 11\n'
        + "".join(
            f'[[flow]]\nname = "f{n}"\nfrom = "st{n}"\nto = "gw"\napp = "bulk"\ntransport = "tcp"\n'
            f'endpoints = "{"kernel" if n == 1 else "model"}"\n'
            for n in range(1, 20)
        )
    )
    hosts = json.loads(bentpipe("net", "up", file, "--json"))["hosts"]
    assert set(hosts) == {"st1", "st20", "gw"}
    until(lambda: '"flow_destination"' in bentpipe("net", "watch", "--once", "--json"))
    time.sleep(1)
    status = json.loads(bentpipe("net", "watch", "--once", "--json"))
    used = {
        row["entity"]: row["values"]["used_bytes"] for row in status["rows"] if row["table"] == "terminal"
    }
    assert used["st2"] > 0 and used["st1"] == 0
    shown = bentpipe("net", "watch", "--once")
    assert max(map(len, shown.splitlines())) <= 80 and "st2" in shown and "sat.forward" in shown


def test_a_host_may_be_on_another_machine(bentpipe: Bentpipe) -> None:
    # crates/emu/tests/real/tunnel.rs tests that it then works.
    said = json.loads(bentpipe("net", "up", "geo", "--host-at", "server=127.0.0.2:4797", "--json"))
    assert set(said["hosts"]) == {"user"}
    assert "remote 127.0.0.1 dstport 4797" in said["elsewhere"]["server"]["join"][0]
    assert "server" in bentpipe("net", "exec", "user", "--", "cat", "/etc/hosts")
    status = json.loads(bentpipe("net", "watch", "--once", "--json"))
    assert status["tunnels"]["server"]["rtt"]["count"] == 0


def test_set_changes_a_network_that_is_up(bentpipe: Bentpipe) -> None:
    bentpipe("net", "up", "geo", *LINK)
    ping = ["net", "exec", "user", "--", "ping", "-c", "3", "-i", "0.2", "server"]
    assert min(rtts_ms(bentpipe(*ping))) == pytest.approx(40, abs=2)
    assert bentpipe("net", "set", "link.sat.delay=50 ms", "link.sat.return.delay=30 ms") == ""
    assert min(rtts_ms(bentpipe(*ping))) == pytest.approx(80, abs=2)
    bentpipe("net", "set", "link.sat.rate=1 Mbit/s")
    # 1028 bytes of ping take 8.2 ms at 1 Mbit/s and 0.4 ms on the way back, which has settings of
    # its own since its delay was changed.
    large = ["net", "exec", "user", "--", "ping", "-c", "3", "-i", "0.2", "-s", "1000", "server"]
    assert min(rtts_ms(bentpipe(*large))) == pytest.approx(80 + 8.2 + 0.4, abs=2)
    bentpipe("net", "set", "geo", "link.sat.error={ kind = 'packet', probability = 1 }")
    assert rtts_ms(bentpipe.done(*ping).stdout) == []
    for wrong in (["link.sat.delay=50"], ["link.sat.dely=5 ms"], ["geo"], ["link.sat.from=x"], ["geo", "x"]):
        assert bentpipe("net", "set", *wrong, code=2)
    assert "link.sat.delay" in bentpipe("net", "set", "link.sat.delay=fifty", code=2)


def test_set_takes_a_network_into_an_outage_and_back(bentpipe: Bentpipe) -> None:
    """The signal of a running star with ACM; every packet is delivered, dropped or still inside."""
    bentpipe("net", "up", "ka-hub", "--set", "network.sat.forward.acm.delay=200 ms")
    ping = ["net", "exec", "st1", "--", "ping", "-c", "4", "-i", "0.2", "-W", "2", "gw"]
    assert len(rtts_ms(bentpipe(*ping))) == 4
    bentpipe("net", "set", "network.sat.forward.acm.esn0_db=-20")
    assert rtts_ms(bentpipe.done(*ping).stdout) == []
    bentpipe("net", "set", "network.sat.forward.acm.esn0_db=3.0")
    until(lambda: rtts_ms(bentpipe.done(*ping).stdout) != [])
    packets = json.loads(bentpipe("net", "watch", "--once", "--json"))["packets"]
    assert packets["dropped"] >= 4
    assert packets["created"] == packets["consumed"] + packets["dropped"] + packets["held"]
    assert "-50 to 60" in bentpipe("net", "set", "network.sat.forward.acm.esn0_db=70", code=2)


@pytest.mark.parametrize("family", ["-4", "-6"])
def test_large_packets_and_fragments_pass(bentpipe: Bentpipe, family: str) -> None:
    """Packets of 9000 bytes pass whole; longer ones, and those of a small interface, in
    fragments."""
    server = "server" if family == "-4" else "ip6-server"
    header = 28 if family == "-4" else 48
    bentpipe("net", "up", "geo", *LINK, "--mtu", "9000")
    whole = ["ping", family, "-c", "1", "-W", "5", "-M", "do"]
    assert rtts_ms(bentpipe("net", "exec", "user", "--", *whole, "-s", str(9000 - header), server))
    assert (
        bentpipe.done("net", "exec", "user", "--", *whole, "-s", str(9001 - header), server).returncode != 0
    )
    in_pieces = ["ping", family, "-c", "1", "-W", "5", "-s", "30000", server]
    assert rtts_ms(bentpipe("net", "exec", "user", "--", *in_pieces))
    bentpipe("net", "down")
    bentpipe("net", "up", "geo", *LINK, "--mtu", "1280")
    assert rtts_ms(bentpipe("net", "exec", "user", "--", *in_pieces))
    packets = json.loads(bentpipe("net", "watch", "--once", "--json"))["packets"]
    # 30 000 bytes in fragments of at most 1280, in both directions; IPv6 fragments have an
    # additional header.
    assert packets["created"] >= 2 * 24 and packets["dropped"] == 0


def test_an_mtu_that_no_interface_has_is_refused(bentpipe: Bentpipe) -> None:
    for wrong in ("1279", "9001", "jumbo"):
        assert "--mtu" in bentpipe("net", "up", "geo", "--mtu", wrong, code=2)


def test_set_changes_how_capacity_is_asked_for_and_assigned(bentpipe: Bentpipe) -> None:
    """RBDC's weight and time-out, and the forward rate, of a DVB-RCS network that is up and in
    use."""
    bentpipe("net", "up", "dvb-rcs", "--set", "network.sat.return.dama.scheme=rbdc")
    ping = ["net", "exec", "st1", "--", "ping", "-c", "4", "-i", "0.2", "gw"]
    before = min(rtts_ms(bentpipe(*ping)))
    scheme = "network.sat.return.dama.scheme"
    bentpipe("net", "set", f"{scheme}.gamma=0.9", f"{scheme}.timeout=30", "network.sat.forward.rate=2 Mbit/s")
    assert len(rtts_ms(bentpipe(*ping))) == 4 and before > 500
    assert "0 to 1" in bentpipe("net", "set", f"{scheme}.gamma=7", code=2)
    # The frame's composition does not change while the network runs.
    assert "cannot" in bentpipe("net", "set", "network.sat.return.slots_per_frame=8", code=2)


def test_watch_follows_until_the_network_ends(bentpipe: Bentpipe) -> None:
    bentpipe("net", "up", "geo", *LINK)
    following = bentpipe.begin("net", "watch", "--interval", "0.2", "--json", stdout=subprocess.PIPE)
    assert following.stdout is not None
    times = [json.loads(following.stdout.readline())["time"] for _ in range(3)]
    assert times == sorted(times)
    bentpipe("net", "down")
    assert following.wait(20) == 0
    following.stdout.close()


def test_a_preset_is_named_by_a_beginning_that_is_its_own() -> None:
    assert target.target("leo").label == "leo-starlink-like"
    assert target.target("geo").label == "geo"
    star = target.target("dvb-rcs")
    assert (star.near, star.far, star.hosts) == ("st1", "gw", ["gw", "st1"])
    assert target.target("geo", host="server").far == "user"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "geo", "--host", "sever", "--", "true"], 'did you mean "server"'),
        (["run", "geo"], "write -- before the command"),
        (["run", "gee", "--", "true"], 'did you mean "geo"'),
        (["run", "mar", "--set", "nonsense", "--", "true"], '--set: "nonsense"'),
        (["run", "i", "--", "true"], "iridium or iridium-next"),
        (["run", "", "--", "true"], "unknown preset, profile or scenario file"),
        (["net", "up", "missing.toml"], "missing.toml"),
        (["net", "up", "geo", "--name", "../x"], "is not a valid network id"),
        (["net", "up", "geo", "--host-at", "sever=127.0.0.2"], 'did you mean "server"'),
        (["net", "up", "geo", "--host-at", "user=127.0.0.2"], "your programs run in user"),
        (["net", "up", "geo", "--host-at", "server=there"], "allowed: an address"),
        (["net", "exec", "user", "--", "true"], "no network is up"),
        (["net", "watch", "geo"], 'unknown network "geo"'),
        (["net", "down", "geo"], 'unknown network "geo"'),
    ],
)
def test_bad_input_is_a_message(bentpipe: Bentpipe, arguments: list[str], said: str) -> None:
    assert said in bentpipe(*arguments, code=2)


def test_names_of_nodes_reach_no_path_no_shell_and_no_file_of_the_machine(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    file = tmp_path / "hostile.toml"
    names = ["../../x", "a b; touch /tmp/bentpipe-was-here", "a\\n6.6.6.6 example.org", "localhost", "$(id)"]
    links = "".join(
        f'[[link]]\nname = "l{n}"\nfrom = "hub"\nto = "{name}"\nrate = "1 Mbit/s"\ndelay = "1 ms"\n'
        for n, name in enumerate(names)
    )
    file.write_text(f'name = "hostile"\nduration = "1 s"\n{links}', encoding="utf-8")
    text = bentpipe("run", file, "--", "sh", "-c", "cat /etc/hosts; env | grep BENTPIPE_HOSTS")
    assert "198.18.0.4 hub\n" in text or re.search(r"^198\.18\.0\.\d hub$", text, flags=re.MULTILINE)
    assert "6.6.6.6" not in text and "$(id)" not in text and "x\n" not in text
    assert re.search(r"^127\.0\.0\.1 .*localhost", text, flags=re.MULTILINE)
    assert not Path("/tmp/bentpipe-was-here").exists()


def test_the_state_is_private_or_refused(bentpipe: Bentpipe) -> None:
    bentpipe.state.mkdir(mode=0o755)
    bentpipe.state.chmod(0o755)
    assert "only you can access" in bentpipe("run", "geo", "--", "true", code=1)
    bentpipe.state.chmod(0o700)
    bentpipe("net", "up", "geo")
    modes = {file.name: file.stat().st_mode & 0o777 for file in bentpipe.state.iterdir()}
    assert modes["geo.json"] == modes["geo.sock"] == modes["geo.log"] == 0o600


def test_a_record_that_was_never_finished_is_removed(bentpipe: Bentpipe) -> None:
    bentpipe.state.mkdir(mode=0o700)
    (bentpipe.state / "geo.new").write_text("{")
    bentpipe("net", "down", "--all")
    assert bentpipe.left() == []


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that any user can enter: every pytest that starts removes other users' access to
    pytest's own folder."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.alone
def test_without_root_too(open_path: Path) -> None:
    """As the user nobody: a ping, nested networks, and a network that stays up."""
    nobody = 65534
    # On some machines only root may open the device: then this test replaces it in a separate mount
    # namespace.
    device = open_path / "tun"
    os.mknod(device, stat.S_IFCHR | 0o666, Path("/dev/net/tun").stat().st_rdev)
    device.chmod(0o666)
    own_device = f'mount --bind {device} /dev/net/tun && exec "$@"'
    with_rights = ["unshare", "--mount", "sh", "-c", own_device, "sh", "setpriv"]
    with_rights += [f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups"]
    environment = {"HOME": str(open_path), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    python = next(
        (path for path in (sys.executable, "/usr/bin/python3") if _runs(with_rights, path, environment)), None
    )
    if python is None:
        pytest.skip("user nobody can run no Python with bentpipe here, or may make no user namespaces")
    place = open_path / "state"
    place.mkdir(mode=0o700)
    os.chown(place, nobody, nobody)
    start = [python, *START[1:]]
    as_nobody = Bentpipe(place, before=with_rights, start=start, environment=environment)
    try:
        ping = ["ping", "-c", "5", "-i", "0.2", "server"]
        assert min(rtts_ms(as_nobody("run", "geo", *LINK, "--", *ping))) == pytest.approx(40, abs=3)
        inner = [*start, "run", "wifi-loss", "--set", "link.wifi.error.probability=0", "--", *ping]
        assert min(rtts_ms(as_nobody("run", "geo", *LINK, "--", *inner))) == pytest.approx(44, abs=3)
        as_nobody("net", "up", "geo", *LINK)
        assert as_nobody("net", "exec", "user", "--", "id", "-u").strip() == str(nobody)
        assert min(rtts_ms(as_nobody("net", "exec", "user", "--", *ping))) == pytest.approx(40, abs=3)
        assert "as root" in as_nobody("run", "geo", "--internet", "--", "true", code=1)
        # Networks of root are separate.
        assert Bentpipe(open_path / "root")("net", "ps") == "no network is up\n"
    finally:
        clear(as_nobody)


def _runs(before: list[str], python: str, environment: dict[str, str]) -> bool:
    probe = "from bentpipe import _native; _native.enter_user_namespace()"
    words = [*before, "env", *(f"{name}={value}" for name, value in environment.items()), python, "-c", probe]
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


@needs("nft", "nsenter", "ip", "curl")
def test_the_way_out_leads_through_the_machine_and_closes_behind_the_last(
    bentpipe: Bentpipe, machine: Machine
) -> None:
    inside = Bentpipe(bentpipe.state, before=machine.inside)
    before = machine.picture()
    server = subprocess.Popen(
        [*machine.at_server, sys.executable, "-u", "-m", "http.server", "80"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        fetch = [
            "curl",
            "-sS",
            "-o",
            "/dev/null",
            "--retry",
            "9",
            "--retry-connrefused",
            f"http://{machine.SERVER}/",
        ]
        begin = time.monotonic()
        inside("run", "geo", *LINK, "--internet", "--", *fetch)
        assert time.monotonic() - begin > 0.08
        assert server.stderr is not None and server.stderr.readline().startswith("203.0.113.1 ")
        assert machine.picture() == before
        # Two networks at once: the first ends first, and the other continues.
        inside("net", "up", "geo", *LINK, "--internet", "--name", "one")
        inside("net", "up", "geo", *LINK, "--internet", "--name", "two")
        assert machine.forwards
        inside("net", "exec", "one", "user", "--", *fetch)
        inside("net", "down", "one")
        assert machine.forwards
        inside("net", "exec", "two", "user", "--", *fetch)
        inside("net", "down", "two")
        assert machine.picture() == before
        # A network without an outlet.
        assert inside.done("run", "geo", "--", *fetch[:-1], "--max-time", "2", fetch[-1]).returncode == 7
    finally:
        server.kill()
        server.communicate()


@needs("nft", "nsenter", "ip")
def test_a_machine_that_forwards_goes_on_to_do_so(bentpipe: Bentpipe, machine: Machine) -> None:
    machine("sysctl", "-qw", "net.ipv4.ip_forward=1")
    Bentpipe(bentpipe.state, before=machine.inside)("run", "geo", "--internet", "--", "true")
    assert machine.forwards


def test_fifty_hosts_come_up(bentpipe: Bentpipe, tmp_path: Path) -> None:
    links = "".join(
        f'[[link]]\nname = "l{n}"\nfrom = "hub"\nto = "h{n}"\nrate = "10 Mbit/s"\ndelay = "5 ms"\n'
        for n in range(49)
    )
    file = tmp_path / "fifty.toml"
    file.write_text(f'name = "fifty"\nduration = "1 h"\n{links}')
    begin = time.monotonic()
    hosts = json.loads(bentpipe("net", "up", file, "--json"))["hosts"]
    print(f"{len(hosts)} hosts are up after {time.monotonic() - begin:.2f} s")
    assert len(hosts) == 50
    assert min(rtts_ms(bentpipe("net", "exec", "h0", "--", "ping", "-c", "2", "h48"))) == pytest.approx(
        20, abs=3
    )


def test_a_process_that_got_the_number_of_ours_is_not_ours(bentpipe: Bentpipe) -> None:
    bentpipe("net", "up", "geo")
    (record,) = bentpipe.records()
    stranger = subprocess.Popen(["unshare", "-n", "sleep", "60"])
    try:
        os.kill(record["pid"], signal.SIGKILL)
        until(lambda: processes.started(record["pid"]) is None)
        # As if the numbers of the process and of a namespace had been reused.
        record["pid"] = stranger.pid
        record["hosts"]["user"]["inode"] = namespace_of(stranger)
        (bentpipe.state / "geo.json").write_text(json.dumps(record))
        assert "killed" in bentpipe("net", "ps")
        assert "was killed" in bentpipe("net", "exec", "geo", "user", "--", "true", code=2)
        bentpipe("net", "down", "--all")
        assert stranger.poll() is None
        assert bentpipe.left() == []
    finally:
        stranger.kill()
        stranger.wait()
