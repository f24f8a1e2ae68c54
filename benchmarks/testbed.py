"""Measures response times of the test bed.

    .venv/bin/python benchmarks/testbed.py [--quick]

There are three cases: 50 users poll while 10 runs are queued; a user lists and filters 10 000
stored runs; a user types into a form next to a picture of 300 nodes. The test bed runs in a
temporary folder. The last case needs Chromium and the built page; --quick skips it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from bentpipe.testbed.accounts import hashed, open_session  # noqa: E402 - needs the path above
from bentpipe.testbed.settings import Settings  # noqa: E402
from bentpipe.testbed.store import Store, migrate  # noqa: E402
from bentpipe.testbed.tables import Run, User  # noqa: E402
from httpx2 import AsyncClient, Client, Limits  # noqa: E402
from rigs.testbeds import SMALL, chromium, serving  # noqa: E402

USERS = 50
QUEUED = 10
STORED = 10_000
SECONDS = 20.0
#: The paths that each user requests in turn.
PAGES = ("/api/runs", "/api/queue", "/api/configurations", "/api/session", "/")
#: Interval between two requests of a user, in seconds.
INTERVAL_S = 1.0


def main() -> None:
    """Measures all cases and prints the results."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        secrets = prepare(data)
        with serving(data) as served:
            measure_lists(served.url, secrets[0])
            before = processor_s(served.process.pid)
            requests = asyncio.run(load(served.url, secrets))
            used = processor_s(served.process.pid) - before
            print(f"  processor time of the web process: {1000 * used / requests:.1f} ms per request")
            if "--quick" not in sys.argv:
                measure_typing(served.url)


def prepare(data: Path) -> list[str]:
    """Creates the users of the test bed, and the stored runs of the first user. Returns a token for
    each user."""
    settings = Settings(data)
    settings.runs.mkdir(parents=True)
    store = Store(settings.url)
    migrate(store)
    password = hashed("correct horse battery")
    with store.writing() as rows:
        users = [User(name=f"user{number}", password=password, level="user") for number in range(USERS)]
        users.append(User(name="root", password=password, level="administrator"))
        rows.add_all(users)
        rows.flush()
        secrets = [open_session(rows, user, "token", 3600.0) for user in users]
        for number in range(STORED):
            rows.add(
                Run(
                    owner_id=users[0].id,
                    name=f"stored {number}",
                    label=("reno", "cubic", "hybla")[number % 3],
                    instrument="simulate",
                    scenario=SMALL,
                    state="done" if number % 7 else "failed",
                    started=float(number),
                    ended=number + 1.0,
                )
            )
    store.close()
    return secrets


def measure_lists(url: str, secret: str) -> None:
    """Measures listing and filtering the stored runs."""
    with Client(base_url=url, headers={"Authorization": f"Bearer {secret}"}, timeout=60) as client:
        for about, query in (
            ("listed", {}),
            ("by state", {"state": "failed"}),
            ("by a text in few runs", {"search": "stored 99"}),
            ("by a text in no run", {"search": "nothing"}),
            ("the last page", {"before": 51}),
        ):
            times = []
            for _ in range(5):
                started = time.perf_counter()
                answer = client.get("/api/runs", params=query)
                times.append(time.perf_counter() - started)
                assert answer.status_code == 200
            print(
                f"{STORED} runs, {about}: {1000 * statistics.median(times):.0f} ms ({len(answer.json())} rows)"
            )


def processor_s(process: int) -> float:
    """Returns the processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(url: str, secrets: list[str]) -> int:
    """Measures the response times of users who poll while runs are queued. Each user also follows
    the stream of events. Returns the number of requests."""
    times: list[float] = []
    broken = 0
    end = time.perf_counter() + SECONDS
    limits = Limits(max_connections=400)
    async with AsyncClient(base_url=url, timeout=60, limits=limits) as client:

        async def user(secret: str, number: int) -> None:
            headers = {"Authorization": f"Bearer {secret}"}
            await asyncio.sleep(INTERVAL_S * number / USERS)
            while time.perf_counter() < end:
                for page in PAGES:
                    started = time.perf_counter()
                    answer = await client.get(page, headers=headers)
                    times.append(time.perf_counter() - started)
                    assert answer.status_code == 200
                    await asyncio.sleep(INTERVAL_S)

        async def follow(secret: str) -> None:
            nonlocal broken
            headers = {"Authorization": f"Bearer {secret}"}
            try:
                async with (
                    asyncio.timeout(SECONDS),
                    client.stream("GET", "/api/events", headers=headers) as stream,
                ):
                    async for _ in stream.aiter_text():
                        pass
                broken += 1
            except TimeoutError:
                pass

        for secret in secrets[:QUEUED]:
            body = {"text": SMALL.replace("20 s", "200 s")}
            answer = await client.post("/api/runs", json=body, headers={"Authorization": f"Bearer {secret}"})
            assert answer.status_code == 201, answer.text
        users = secrets[:USERS]
        await asyncio.gather(
            *map(follow, users), *(user(secret, number) for number, secret in enumerate(users))
        )
        queue = (await client.get("/api/queue", headers={"Authorization": f"Bearer {secrets[0]}"})).json()
    times.sort()
    print(
        f"{USERS} users, {QUEUED} runs queued ({queue['waiting'] + queue['running']} left): {len(times)} requests, "
        f"median {1000 * statistics.median(times):.0f} ms, "
        f"p95 {1000 * times[int(0.95 * len(times))]:.0f} ms, maximum {1000 * times[-1]:.0f} ms; {broken} streams broken"
    )
    return len(times)


def measure_typing(url: str) -> None:
    """Measures the time from a key press to the next frame, in a form and in the text of a scenario
    with 300 nodes."""
    nodes = 300
    scenario = 'name = "Many"\nduration = "10 s"\n'
    for number in range(1, nodes):
        scenario += f'[[link]]\nname = "l{number}"\nfrom = "n{number // 2}"\nto = "n{number}"\n'
        scenario += 'rate = "10 Mbit/s"\ndelay = "1 ms"\n'
    scenario += '[[flow]]\nname = "f"\nfrom = "n0"\nto = "n299"\napp = "bulk"\ntransport = "tcp"\n'
    with Client(base_url=url) as client:
        answer = client.post(
            "/api/session",
            json={"name": "root", "password": "correct horse battery"},
            headers={"Origin": url},
        )
        cookie = answer.cookies["__Host-bentpipe"]
        made = client.post(
            "/api/configurations",
            json={"name": "many", "text": scenario},
            headers={"Origin": url, "Cookie": f"__Host-bentpipe={cookie}"},
        ).json()
    with chromium() as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.goto(url)
        page.get_by_label("Name").fill("root")
        page.get_by_label("Password").fill("correct horse battery")
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("heading", name="Configurations").wait_for()
        for of, label in (("link.l7", "rate (required)"), ("", "Scenario")):
            page.goto(f"{url}/#/configuration/{made['id']}/system?of={of}")
            field = page.get_by_label(label, exact=True)
            field.wait_for()
            page.locator(".react-flow__node").first.wait_for()
            page.evaluate(
                """() => { window.times = []; addEventListener('keydown', (event) => {
                    const began = event.timeStamp;
                    requestAnimationFrame(() => setTimeout(() => window.times.push(performance.now() - began)));
                }, true); }"""
            )
            field.focus()
            field.press("End")
            page.evaluate("window.times.length = 0")
            for character in "0123456789":
                page.keyboard.press(character)
                page.wait_for_timeout(120)
            times = sorted(page.evaluate("window.times"))
            print(
                f"{nodes} nodes, keys in {'the text' if label == 'Scenario' else 'a form'}: until drawn "
                f"median {statistics.median(times):.0f} ms, maximum {times[-1]:.0f} ms"
            )


if __name__ == "__main__":
    main()
