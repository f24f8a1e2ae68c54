"""The first process of a guest in which set-ups of the kernel's netem and tbf are measured.

Arguments: a file with the set-ups as JSON (name, promise, duration, seed, commands), and the
folders of Python's modules. The network of a set-up is a - m - b. Commands name a device as `a` or
`b` (the interface of the host) or `ma` or `mb` (the interface of m that leads there). Prints a line
per set-up: its name and the observation, pickled. The command `script` runs an exported script for
netem on both interfaces of m.
"""

import base64
import ctypes
import json
import os
import pickle
import subprocess
import sys
import time
import traceback
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
#: From <linux/sched.h> and <linux/reboot.h>.
NEW_NETWORK = 0x40000000
POWER_OFF = 0x4321FEDC
KEY = b"0123456789abcdef"
PORT = 8620


def run(*words: str) -> None:
    subprocess.run(words, check=True)


def enter(name: str) -> None:
    with Path(f"/run/netns/{name}").open() as file:
        assert LIBC.setns(file.fileno(), NEW_NETWORK) == 0


def prepare(commands: list[str]) -> list[subprocess.Popen[bytes]]:
    """Creates the network of a set-up. `out` is the interface of a host. Returns the scripts that
    change the network while it is measured."""
    scripts = []
    for name in "amb":
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
    for host, net, far in (("a", 1, 2), ("b", 2, 1)):
        peer = ("type", "veth", "peer", "name", f"to-{host}", "netns", "m")
        run("ip", "link", "add", "out", "netns", host, *peer)
        for name, device, last in ((host, "out", 1), ("m", f"to-{host}", 2)):
            run("ip", "-n", name, "addr", "add", f"10.0.{net}.{last}/24", "dev", device)
            run("ip", "-n", name, "link", "set", device, "address", "02:00:00:00:00:01", "arp", "off", "up")
        run("ip", "-n", host, "route", "add", f"10.0.{far}.0/24", "via", f"10.0.{net}.2")
    run("ip", "netns", "exec", "m", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
    places = {"a": ("a", "out"), "b": ("b", "out"), "ma": ("m", "to-a"), "mb": ("m", "to-b")}
    for command in commands:
        tool, place, *words = command.split()
        if tool == "script":
            scripts.append(subprocess.Popen(["ip", "netns", "exec", "m", "sh", place, "to-b", "to-a"]))
            while "delay" not in subprocess.check_output(["tc", "-n", "m", "qdisc"], text=True):
                time.sleep(0.01)
            continue
        name, device = places[place]
        if tool == "qdisc":
            run("tc", "-n", name, "qdisc", "add", "dev", device, *words)
        else:
            run("ip", "-n", name, "link", "set", device, *words)
    return scripts


def observed(promise: str, duration: float, seed: int) -> bytes:
    """Measures from a to b in two child processes, and returns the pickled observation."""
    from bentpipe import measure
    from bentpipe.audit.observing import observe
    from bentpipe.audit.promises import read_promises

    reflector = os.fork()
    if not reflector:
        enter("b")
        measure.reflect("10.0.2.1", PORT, KEY, rate=1e5, should_continue=lambda: True)
        os._exit(0)
    reading, writing = os.pipe()
    if not os.fork():
        try:
            enter("a")
            time.sleep(0.5)
            seen = observe(
                "10.0.2.1",
                PORT,
                KEY,
                read_promises(promise),
                duration=duration,
                shared_clock=True,
                seed=seed,
            )
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(seen, pipe)
        except BaseException:  # noqa: BLE001 - the parent reports it
            traceback.print_exc()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.kill(reflector, 9)
    os.wait()
    os.wait()
    return data


def main() -> None:
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("tmpfs", "/dev/shm")):
        subprocess.run(["mount", "-t", kind, kind, place], check=False)
    run("ip", "link", "set", "lo", "up")
    import numpy as np
    import scipy.optimize  # noqa: F401 - imported once for all set-ups

    assert np is not None
    # User-Mode Linux appends a word to its command line.
    for setup in json.loads(Path(sys.argv[1]).read_text()):
        scripts = prepare(setup["commands"])
        data = observed(setup["promise"], setup["duration"], setup["seed"])
        print("observation", setup["name"], base64.b64encode(data).decode(), flush=True)
        for script in scripts:
            script.kill()
            script.wait()
        for name in "amb":
            run("ip", "netns", "del", name)


if __name__ == "__main__":
    try:
        sys.path[:0] = sys.argv[2].split(":")
        main()
    except BaseException:  # noqa: BLE001 - the guest ends before Python would say it
        traceback.print_exc()
    finally:
        LIBC.reboot(POWER_OFF)
