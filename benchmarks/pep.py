#!/usr/bin/env python3
"""Measures `bentpipe machine pep`: client, proxy and server in namespaces, compared with kernel
forwarding.

    benchmarks/pep.py [--only CASE] [--short] [--against PYTHON]

Needs root, a built bentpipe (`make build`), dist/examples/bench_load in $CARGO_TARGET_DIR or target
(built by scripts/bench), nft, ip, ss, curl, and for the case satellite iperf3. A case that cannot
run prints the reason. Exit status: 1 if a target that does not depend on the machine is missed.

    throughput     one connection, alternately without and with the proxy; target: half of the
                   kernel's rate
    short          connections with one byte each way; target: 5000 per second
    hold           10 000 concurrent connections: bytes per connection in the proxy's process and in
                   the kernel
    leak           100 000 connections; target: no descriptor remains open
    satellite      10 Mbit/s, 250 ms one way, 1 % loss, emulated by bentpipe: end to end, and split
                   before the link
    simulated      the same on the virtual clock with the simulated proxy: the median of nine seeds,
                   and the goodput of the satellite's leg alone; needs neither root nor programs

--against PYTHON repeats the cases throughput and short, alternating between the kernel, the proxy
of this build and the proxy of another build. PYTHON runs the other build (.venv/bin/python of
another checkout). Ratios are computed within each round, and their medians are printed, because
other load changes the rates from round to round.

The processor time is the sum over client, server, proxy and the kernel's softirq threads. It
depends less on the load of the machine than rates do.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from rigs.networks import Bentpipe, until  # noqa: E402 - needs the path above
from rigs.proxied import SERVER, Lab, Place  # noqa: E402

LOAD = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "dist/examples/bench_load"
#: The congestion control on every machine. Some kernels default to BBR, whose pacing halves the
#: rate here.
CONGESTION = "cubic"
METRICS = ("--metrics", "127.0.0.1:9377")
PORT, PORTS = 8000, 8


class MissedError(Exception):
    """A target that does not depend on the machine's speed was missed."""


class Bench(Lab):
    """A lab with a running server."""

    #: Process id of the server.
    server_pid: int


@contextmanager
def laboratory() -> Iterator[Bench]:
    """Creates a lab with a running server, until the end of the block."""
    lab = Bench()
    assign_ports(lab.client, 0, 1)
    process = subprocess.Popen([*lab.server.inside, *server_command()], stdout=subprocess.DEVNULL)
    lab.server_pid = process.pid
    try:
        until(lambda: lab.server("ss", "-tlnH"))
        yield lab
    finally:
        process.kill()
        process.wait()
        lab.close()


def assign_ports(client: Place, number: int, count: int) -> None:
    """Gives the client the range of ports for mode ``number`` (from 0) of ``count`` modes.

    A forwarded connection must not have the addresses and ports of a connection that the proxy
    handled in the previous minute: the kernel does not forward packets for which a socket is in
    TIME-WAIT.
    """
    each = 64_000 // count
    first = 1024 + number * each
    client("sysctl", "-qw", f"net.ipv4.ip_local_port_range={first} {first + each - 1}")


def server_command() -> tuple[str, ...]:
    """Returns the command of a server for many short connections."""
    if not LOAD.exists():
        raise FileNotFoundError(f"no {LOAD}: cargo build --profile dist -p bentpipe-pep --example bench_load")
    return (str(LOAD), "serve", str(PORT), str(PORTS))


def show(name: str, label: str, figures: str) -> None:
    """Prints a line of the table."""
    print(f"{name:<12}{label:<36}{figures}", flush=True)


class Load(NamedTuple):
    """The load that a client generated in a run."""

    #: Connections per second, or Gbit/s.
    rate: float
    #: Number of connections, or gigabytes.
    amount: float
    p50_ms: float = 0.0
    p99_ms: float = 0.0


class Run(NamedTuple):
    """A run of a client, with its processor time."""

    load: Load
    #: Processor time of all processes, in seconds per connection or gigabyte.
    total_cost: float
    #: Processor time of the proxy, in seconds per connection or gigabyte.
    proxy_cost: float


def processor_seconds(*pids: int) -> float:
    """Returns the processor time that the processes have used so far."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def softirq_threads() -> list[int]:
    """Returns the kernel threads that process packets under load."""
    names = ((int(path.parent.name), path) for path in Path("/proc").glob("[0-9]*/comm"))
    return [pid for pid, path in names if path.exists() and path.read_text().startswith("ksoftirqd/")]


#: The modes by name. The value has the proxy's options and the Python of its build, or is None for
#: a mode without a proxy.
Modes = dict[str, tuple[tuple[str, ...], str] | None]


def turns(lab: Bench, modes: Modes, rounds: int, load: Callable[[], Load]) -> dict[str, list[Run]]:
    """Measures all modes in each round. The first mode of the round changes from round to round."""
    runs: dict[str, list[Run]] = {name: [] for name in modes}
    names = list(modes)
    softirqs = softirq_threads()
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            mode = modes[name]
            if mode:
                lab.start(*mode[0], "--server-congestion", CONGESTION, python=mode[1])
            assign_ports(lab.client, names.index(name), len(names))
            proxies = [lab.worker_process] if mode else []
            others = [lab.server_pid, *softirqs]
            before = processor_seconds(*others), processor_seconds(*proxies), children_seconds()
            done = load()
            after = processor_seconds(*others), processor_seconds(*proxies), children_seconds()
            used = [late - early for early, late in zip(before, after, strict=True)]
            runs[name].append(Run(done, sum(used) / done.amount, used[1] / done.amount))
            if mode:
                lab.stop()
    return runs


def children_seconds() -> float:
    """Returns the processor time of this process's ended children, which are the clients, in
    seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def times(runs: list[Run], baseline: list[Run], figure: Callable[[Run], float]) -> float:
    """Returns the median ratio of a figure to the baseline's figure of the same round."""
    return statistics.median(figure(a) / figure(b) for a, b in zip(runs, baseline, strict=True))


def rate(run: Run) -> float:
    """Returns connections per second, or Gbit/s."""
    return run.load.rate


def cost(run: Run) -> float:
    """Returns the processor time per connection or gigabyte, in seconds."""
    return run.total_cost


def median(runs: list[Run], figure: Callable[[Run], float]) -> float:
    """Returns the median of a figure over the runs."""
    return statistics.median(map(figure, runs))


def costs(runs: list[Run], kernel: list[Run], unit: str, scale: float) -> str:
    """Formats the processor time of runs. Runs with a proxy also get the ratio to the runs with
    kernel forwarding."""
    text = f"processor time {median(runs, cost) * scale:.3g} {unit}"
    if runs is not kernel:
        proxy = median(runs, lambda run: run.proxy_cost) * scale
        text += f" ({times(runs, kernel, cost):.2f} of the kernel's; proxy alone {proxy:.3g})"
    return text


def throughput(short: bool) -> None:
    """Measures the rate of one connection, alternately without and with the proxy."""
    with laboratory() as lab:
        modes: Modes = {"kernel": None, "proxy": ((), sys.executable)}
        runs = turns(lab, modes, 3 if short else 7, lambda: bulk(lab, 1 if short else 3))
    kernel, proxy = runs.values()
    per = "s per GB"
    show("throughput", "the kernel forwards", f"{spread(kernel)} Gbit/s; {costs(kernel, kernel, per, 1)}")
    ratio = f"{times(proxy, kernel, rate):.2f} of the kernel's (target: 0.5)"
    show("", "through the proxy", f"{spread(proxy)} Gbit/s, {ratio}; {costs(proxy, kernel, per, 1)}")


def against(short: bool, other: str) -> None:
    """Compares this build with another build and with kernel forwarding, alternating between
    them."""
    modes: Modes = {"kernel": None, "this": ((), sys.executable), "other": ((), other)}

    def compare(label: str, lab: Bench, load: Callable[[], Load]) -> None:
        runs = turns(lab, modes, 5 if short else 15, load)
        for figure, name in ((rate, label), (cost, "processor time")):
            ratios = (times(runs["this"], runs[baseline], figure) for baseline in ("other", "kernel"))
            shown = ", ".join(f"{mode} {median(runs[mode], figure):.3g}" for mode in modes)
            show(
                "against", name, "this to other {:.3f}, to the kernel {:.3f}".format(*ratios) + f" ({shown})"
            )

    with laboratory() as lab:
        compare("connections per second", lab, lambda: load(lab, 3_000 if short else 15_000))
        compare("one connection, Gbit/s", lab, lambda: bulk(lab, 1))


def client(lab: Bench, kind: str, *arguments: int) -> dict[str, Any]:
    """Runs a client of `bench_load`. Returns the results that it prints."""
    text = lab.client(str(LOAD), kind, SERVER, str(PORT), str(PORTS), *map(str, arguments))
    result: dict[str, Any] = json.loads(text)
    return result


def bulk(lab: Bench, seconds: int) -> Load:
    """Transfers data over one connection at the maximum rate."""
    result = client(lab, "bulk", seconds)
    return Load(result["gbps"], result["bytes"] / 1e9)


def spread(runs: list[Run]) -> str:
    """Formats the median, minimum and maximum of rates."""
    return f"{median(runs, rate):.1f} ({min(map(rate, runs)):.1f} to {max(map(rate, runs)):.1f})"


def load(lab: Bench, count: int, concurrency: int = 32) -> Load:
    """Opens `count` short connections, `concurrency` at the same time."""
    result = client(lab, "short", count, concurrency)
    if result["failed"]:
        raise MissedError(f"{result['failed']} of {count} connections failed")
    return Load(result["per_second"], count, result["p50_us"] / 1000, result["p99_us"] / 1000)


def short_connections(short: bool) -> None:
    """Measures the rate of short connections, without and with the proxy."""
    modes: Modes = {"kernel": None} | {
        f"{accept} accept": (("--accept", accept), sys.executable) for accept in ("late", "early")
    }
    with laboratory() as lab:
        runs = turns(lab, modes, 3 if short else 6, lambda: load(lab, 5_000 if short else 20_000))
    for name, done in runs.items():
        label = f"through the proxy, {name}" if modes[name] else "the kernel forwards"
        target = " (target: 5000)" if modes[name] else ""
        p50, p99 = median(done, lambda run: run.load.p50_ms), median(done, lambda run: run.load.p99_ms)
        figures = f"{median(done, rate):.0f} per second{target}; p50 {p50:.1f} ms, p99 {p99:.1f} ms"
        show("" if modes[name] else "short", label, f"{figures}; {costs(done, runs['kernel'], 'us', 1e6)}")


#: Names of the kernel objects that each connection uses.
OBJECTS = re.compile(r"^(TCP|sock_inode_cache|eventpoll_\w+|ep_head|filp|tcp_bind\w*|request_sock_TCP) ")


def kernel_bytes() -> int:
    """Returns the kernel memory of all objects that connections use, in bytes."""
    total = 0
    for line in Path("/proc/slabinfo").read_text().splitlines():
        if OBJECTS.match(line):
            fields = line.split()
            total += int(fields[1]) * int(fields[3])
    return total


def resident(pid: int) -> int:
    """Returns the resident memory of a process, in bytes."""
    [line] = [
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")
    ]
    return int(line.split()[1]) * 1024


def hold(short: bool) -> None:
    """Measures the memory per connection in the proxy's process and in the kernel."""
    count = 1_000 if short else 10_000

    @contextmanager
    def held(lab: Lab) -> Iterator[None]:
        command = [*lab.client.inside, str(LOAD), "hold", SERVER, str(PORT), str(PORTS), str(count)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout and process.stdin
            if b"held" not in process.stdout.readline():
                raise MissedError(f"the client could not hold {count} connections")
            yield
            process.stdin.close()

    with laboratory() as lab:
        before = kernel_bytes()
        with held(lab):
            end_to_end = kernel_bytes() - before
    # A new server is needed, because the first server still has its connections.
    with laboratory() as lab:
        lab.start(*METRICS)
        time.sleep(0.5)
        base, before = resident(lab.worker_process), kernel_bytes()
        with held(lab):
            process, kernel = resident(lab.worker_process) - base, kernel_bytes() - before - end_to_end
            proxied = int(lab.metric("connections"))
            descriptors = lab.descriptors()
        if proxied != count:
            raise MissedError(f"only {proxied} of {count} connections pass through the proxy")
        lab.stop()
    show(
        "hold",
        f"{count} connections",
        f"{process / count:.0f} bytes per connection in the process, {kernel / count:.0f} in the kernel",
    )
    show("", "", f"{descriptors} descriptors; the process without connections: {base / 1e6:.0f} MB")


def leak(short: bool) -> None:
    """Checks that ended connections leave no descriptors open."""
    count = 10_000 if short else 100_000
    with laboratory() as lab:
        lab.start(*METRICS)
        load(lab, 1000)
        until(lambda: lab.metric("connections") == lab.metric("handshakes") == 0)
        descriptors, memory = lab.descriptors(), resident(lab.worker_process)
        done = load(lab, count)
        until(lambda: lab.metric("connections") == lab.metric("handshakes") == 0)
        left, growth = lab.descriptors() - descriptors, resident(lab.worker_process) - memory
        if lab.metric("accepted_total") != count + 1000:
            raise MissedError("some connections bypassed the proxy")
        lab.stop()
    show(
        "leak",
        f"{count} connections",
        f"{left} descriptors left open, {growth / 1024:+.0f} KiB; {done.rate:.0f} per second",
    )
    if left:
        raise MissedError(f"{left} descriptors are left open")


def satellite(short: bool) -> None:
    """Measures an upload over an emulated link, end to end and split by a proxy at the terminal.

    The client is behind the terminal, a host of the emulated network. The client has the address of
    the terminal, and the terminal only forwards.
    """
    if shutil.which("iperf3") is None:
        raise FileNotFoundError("no iperf3")
    from bentpipe import _native

    ours = {variant["name"] for variant in json.loads(_native.variants())}
    kernel = set(Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split())
    wanted = [name for name in ("cubic", "bbr", "hybla", "vegas", "westwood") if name in ours | kernel]
    cases: list[str | None] = [None, *wanted]
    rows = [(case, goodput(case, 10 if short else 40)) for case in cases]
    base = rows[0][1]
    for case, mbps in rows:
        label = "end to end, cubic" if case is None else f"split, {case} over the satellite"
        show("satellite" if case is None else "", label, f"{mbps:.2f} Mbit/s, {mbps / base:.1f} times")


def goodput(congestion: str | None, seconds: int) -> float:
    """Measures the goodput of the upload at the server, in Mbit/s. `congestion` is the congestion
    control of the proxy; None measures without a proxy."""
    with tempfile.TemporaryDirectory() as folder:
        bentpipe = Bentpipe(Path(folder))
        error = 'link.sat.error={ kind = "packet", probability = 0.01 }'
        bentpipe("net", "up", "geo", "--name", "sky", "--set", error)
        lab = Lab()
        try:
            [network] = json.loads(bentpipe("net", "ps", "--json"))
            hosts = network["hosts"]
            address, server = hosts["user"]["ipv4"], hosts["server"]["ipv4"]
            inside = ["nsenter", f"--net={hosts['user']['namespace']}"]

            def terminal(*command: str) -> str:
                return subprocess.run([*inside, *command], check=True, capture_output=True, text=True).stdout

            # Moves the address from the terminal to the client behind the terminal.
            interface = json.loads(terminal("ip", "-j", "-4", "addr", "show", "to", address))[0]["ifname"]
            terminal("ip", "addr", "flush", "dev", interface, "scope", "global")
            terminal("ip", "route", "replace", "default", "dev", interface)
            terminal(
                "ip",
                "link",
                "add",
                "lan",
                "type",
                "veth",
                "peer",
                "name",
                "lan",
                "netns",
                str(lab.client.pid),
            )
            terminal("ip", "addr", "add", "10.78.0.1/32", "dev", "lan")
            terminal("ip", "link", "set", "lan", "up")
            terminal("ip", "route", "add", f"{address}/32", "dev", "lan")
            terminal("sysctl", "-qw", "net.ipv4.ip_forward=1")
            lab.client("ip", "route", "flush", "dev", "wire")
            lab.client("ip", "addr", "add", f"{address}/32", "dev", "lan")
            lab.client("ip", "link", "set", "lan", "up")
            lab.client("ip", "route", "add", "10.78.0.1/32", "dev", "lan")
            lab.client("ip", "route", "replace", "default", "via", "10.78.0.1", "src", address)
            if congestion:
                lab.proxy.inside = inside
                lab.start("--server-congestion", congestion)
            listener = bentpipe.begin(
                "net", "exec", "sky", "server", "--", "iperf3", "-s", "-1", stdout=subprocess.DEVNULL
            )
            until(lambda: "5201" in bentpipe("net", "exec", "sky", "server", "--", "ss", "-tlnH"))
            text = lab.client("iperf3", "-c", server, "-t", str(seconds), "-C", "cubic", "-J")
            listener.wait(60)
            if congestion:
                lab.stop()
            return float(json.loads(text)["end"]["sum_received"]["bits_per_second"]) / 1e6
        finally:
            lab.close()
            bentpipe("net", "down", "--all")


#: The network of `goodput`. A wire joins the client to the terminal, and the terminal hosts the
#: proxy.
SIMULATED = """
name = "satellite"
duration = "{seconds} s"
preset = "geo"

[[link]]
name = "wire"
from = "client"
to = "user"
rate = "1 Gbit/s"
delay = "0 s"

[[flow]]
name = "upload"
from = "{begin}"
to = "server"
app = "bulk"
transport = {{ kind = "tcp", congestion = "{congestion}" }}
"""

#: The simulated proxy, with the congestion control of its satellite side.
SPLIT = """
[[proxy]]
name = "pep"
node = "user"
mechanism = {{ kind = "split", sides.sat = {{ congestion = "{congestion}" }} }}
"""


def simulated(short: bool) -> None:
    """Simulates the case `satellite`, and the satellite leg alone. A split should reach the goodput
    of the satellite leg."""
    import bentpipe

    seconds = 10 if short else 40

    def median_goodput(congestion: str, begin: str = "client", proxy: str = "") -> float:
        text = SIMULATED.format(seconds=seconds, begin=begin, congestion=congestion) + proxy
        with tempfile.TemporaryDirectory() as folder:
            settings = ['link.sat.error={ kind = "packet", probability = 0.01 }', "record.traces=[]"]
            scenario = Path(folder) / "satellite.toml"
            scenario.write_text(text)
            runs = [
                bentpipe.simulate(scenario, seed=seed, overrides=settings, out=Path(folder) / str(seed))
                for seed in range(1, 10)
            ]
            bytes_ = [run.flows.row(0, named=True)["delivered_bytes"] for run in runs]
        return statistics.median(bytes_) * 8 / seconds / 1e6

    base = median_goodput("cubic")
    show("simulated", "end to end, cubic", f"{base:.2f} Mbit/s")
    for case in ("cubic", "bbr", "hybla", "westwood", "vegas"):
        split = median_goodput("cubic", proxy=SPLIT.format(congestion=case))
        alone = median_goodput(case, begin="user")
        text = f"{split:.2f} Mbit/s, {split / base:.1f} times; satellite leg alone {alone:.2f} Mbit/s"
        show("", f"split, {case} over the satellite", text)


CASES: dict[str, Callable[[bool], None]] = {
    "throughput": throughput,
    "short": short_connections,
    "hold": hold,
    "leak": leak,
    "satellite": satellite,
    "simulated": simulated,
}


def main() -> int:
    """Runs the selected cases and prints their tables. Returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=CASES, action="append", help="only this case; repeatable")
    parser.add_argument("--short", action="store_true", help="smaller counts and times, for a quick trial")
    parser.add_argument("--against", metavar="PYTHON", help="only compare with the build of another Python")
    arguments = parser.parse_args()
    cases = CASES
    if arguments.against:
        cases = {"against": lambda short: against(short, arguments.against)}
    missed = 0
    for name in arguments.only or cases:
        try:
            cases[name](arguments.short)
        except FileNotFoundError as error:
            show(name, "skipped", str(error))
        except MissedError as error:
            missed = 1
            show(name, "MISSED", str(error))
    return missed


if __name__ == "__main__":
    sys.exit(main())
