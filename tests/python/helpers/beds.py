"""A test bed in the process of a test, and the common actions of tests on it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")
pytest.importorskip("argon2", reason="bentpipe[testbed] is not installed")

from argon2 import PasswordHasher
from bentpipe.testbed import accounts
from bentpipe.testbed.api import application
from bentpipe.testbed.executor import Executor
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.store import Store, migrate
from httpx2 import Client, Response
from rigs.testbeds import PASSWORD, SMALL
from starlette.testclient import TestClient

#: The base URL for browsers; the log-in's cookie is for encrypted connections.
URL = "https://127.0.0.1"


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    monkeypatch.setattr(accounts, "_hasher", cheap)
    monkeypatch.setattr(accounts, "_NOBODY", cheap.hash("nobody"))


class Bed:
    """A test bed in this process, with an optional executor."""

    def __init__(self, data: Path, url: str = "", *, real_time: bool = False) -> None:
        self.settings = Settings(data, url, slots=1, real_time=real_time)
        data.mkdir(exist_ok=True)
        self.settings.runs.mkdir(exist_ok=True)
        self.store = Store(self.settings.url)
        migrate(self.store)
        self.app = application(self.settings, self.store)
        self.executor: Executor | None = None

    def visitor(self) -> Client:
        """Returns a browser without a log-in."""
        client = TestClient(self.app, base_url=URL)
        client.headers["Origin"] = URL
        return client

    def join(self, name: str, level: str = "user") -> Client:
        """Returns the browser of a new account."""
        client = self.visitor()
        given = {"invitation": accounts.invite(self.store, level), "name": name, "password": PASSWORD}
        assert client.post("/api/invitations/accept", json=given).status_code == 201
        return client

    def execute(self) -> None:
        """Starts an executor for this test bed."""
        self.executor = Executor(self.settings, self.store)
        self.thread = threading.Thread(target=self.executor.loop)
        self.thread.start()

    def stop(self) -> None:
        if self.executor is not None:
            self.executor.stop()
            self.thread.join()
            self.executor = None


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    bed = Bed(tmp_path / "data")
    yield bed
    bed.stop()
    bed.store.close()


def said(answer: Response) -> str:
    return str(answer.json()["detail"])


def saved(client: Client, name: str = "mine", scenario: str = SMALL) -> dict[str, Any]:
    answer = client.post("/api/configurations", json={"name": name, "text": scenario})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def launched(client: Client, **given: Any) -> list[dict[str, Any]]:
    answer = client.post("/api/runs", json={"text": SMALL, **given})
    assert answer.status_code == 201, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found
