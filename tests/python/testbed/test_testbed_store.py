"""The test bed's database and its package. Numbers in the names of tests refer to the abuse cases
in docs/notes/abuse-cases.md."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from bentpipe.errors import InputError
from bentpipe.testbed import accounts
from bentpipe.testbed import store as store_module
from bentpipe.testbed.serving import prepare
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.store import Store, migrate
from helpers.beds import Bed, _cheap_passwords, bed, said, saved
from rigs.testbeds import BENTPIPE, PASSWORD, SMALL, until
from sqlalchemy import text

__all__ = ["_cheap_passwords", "bed"]


def test_27_a_locked_database_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process holds the lock, requests that only read succeed, and others report the
    lock."""
    import sqlite3

    from bentpipe.testbed import store

    monkeypatch.setattr(store, "BUSY_S", 0.1)
    bed = Bed(tmp_path / "data")
    ada = bed.join("ada")
    saved(ada)
    holder = sqlite3.connect(tmp_path / "data" / "testbed.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert [one["name"] for one in ada.get("/api/configurations").json()] == ["mine"]
    answer = ada.post("/api/configurations", json={"name": "other", "text": SMALL})
    assert answer.status_code == 503 and "try again" in said(answer)
    holder.execute("ROLLBACK")
    holder.close()
    assert saved(ada, "other")["name"] == "other"
    bed.store.close()


def test_the_first_view_is_small() -> None:
    """The scripts of the first view have at most 150 kB, compressed. Pictures and plots are loaded
    when their view opens."""
    from rigs.testbeds import PAGE

    if not PAGE.is_file():
        pytest.skip("the page of the test bed is not built")
    scripts = re.findall(r'(?:src|href)="/(assets/[^"]+\.js)"', PAGE.read_text())
    sizes = [(PAGE.parent / f"{script}.gz").stat().st_size for script in scripts]
    assert 50_000 < sum(sizes) < 150_000


def test_32_a_database_of_a_newer_version_is_refused_unchanged(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    migrate(store)
    migrate(store)
    with store.writing() as rows:
        rows.execute(text("update alembic_version set version_num = '9999'"))
    with pytest.raises(InputError, match="newer version"):
        migrate(store)
    with store.reading() as rows:
        assert rows.scalar(text("select version_num from alembic_version")) == "9999"
    store.close()


def test_the_tables_are_those_of_the_migrations(tmp_path: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from bentpipe.testbed.tables import Base

    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    migrate(store)
    with store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    store.close()


def test_the_package_contains_the_page(tmp_path: Path) -> None:
    """The installed package contains the built page with every file that it names, although git
    ignores it."""
    import tarfile

    from rigs.testbeds import PAGE, ROOT

    maturin = Path(sys.executable).parent / "maturin"
    if not PAGE.is_file() or not maturin.is_file():
        pytest.skip("the page of the test bed is not built, or there is no maturin")
    subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, check=True, capture_output=True)
    (file,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    static = "python/bentpipe/testbed/static/"
    assets = re.findall(r'(?:src|href)="/(assets/[^"]+)"', PAGE.read_text())
    assert len(assets) >= 2
    assert {f"{static}index.html", *(static + asset for asset in assets)} <= names


def test_32_a_database_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    """After the update accounts can log in, waiting runs start, and configurations are present."""
    from alembic import command
    from alembic.config import Config
    from bentpipe.testbed.accounts import password_hash

    data = tmp_path / "data"
    data.mkdir()
    store = Store(f"sqlite:///{data / 'testbed.sqlite'}")
    config = Config()
    config.set_main_option("script_location", str(Path(store_module.__file__).parent / "migrations"))
    with store.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        known = {
            name: {row[1] for row in connection.execute(text(f"pragma table_info({name})"))}
            for name in ("run",)
        }
        assert not {"pace", "duration"} & known["run"]
        now = 1_790_000_000.0
        connection.execute(
            text("insert into account values (1, 'ada', :password, 'user', :now)"),
            {"password": password_hash(PASSWORD), "now": now},
        )
        connection.execute(
            text(
                "insert into configuration (id, owner_id, name, text, origin, positions, shared, version, changed) "
                "values ('c', 1, 'mine', :text, :text, '{}', 0, 3, :now)"
            ),
            {"text": SMALL, "now": now},
        )
        for number, state in ((1, "done"), (2, "queued"), (3, "running")):
            connection.execute(
                text(
                    "insert into run (number, id, owner_id, name, label, instrument, replication, scenario, state, "
                    "reason, progress, events, queued, cancel, shared, baseline, worker, lease) "
                    "values (:number, :id, 1, 'old', '', 'simulate', 0, :text, :state, '', 0.5, 1e5, :now, 0, 0, 0, "
                    "'w', :now)"
                ),
                {"number": number, "id": f"r{number}", "text": SMALL, "state": state, "now": now},
            )
        # This belonged to an account that was removed.
        connection.execute(
            text(
                "insert into audit (at, user_id, \"user\", action, what) values (:now, 7, 'eve', 'join', '')"
            ),
            {"now": now},
        )
    store.close()
    bed = Bed(data)
    ada = bed.visitor()
    assert ada.post("/api/session", json={"name": "ada", "password": PASSWORD}).status_code == 200
    assert ada.get("/api/configurations/c").json()["version"] == 3
    assert bed.join("bob").get("/api/session").json()["id"] == 8
    bed.execute()
    until(lambda: ada.get("/api/runs/r2").json()["state"] == "done")
    # A run that was active when the older version ended is not repeated.
    assert {run["id"]: run["state"] for run in ada.get("/api/runs").json()} == {
        "r1": "done",
        "r2": "done",
        "r3": "incomplete",
    }
    bed.stop()
    bed.store.close()


def test_a_folder_of_something_else_stays_as_it_is(tmp_path: Path) -> None:
    """The test bed sets the mode only of folders that it creates, and its files in any folder are
    for its user alone."""
    home, made, empty = tmp_path / "home", tmp_path / "new" / "data", tmp_path / "empty"
    home.mkdir(mode=0o755)
    (home / "thesis.txt").write_text("years of work")
    done = subprocess.run(
        [*BENTPIPE, "serve", "--data", str(home)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2 and str(home) in done.stderr and "Traceback" not in done.stderr
    for file in (home / "thesis.txt", home / "thesis.txt" / "data"):
        with pytest.raises(InputError, match=str(file)):
            prepare(Settings(file))
    assert [one.name for one in home.iterdir()] == ["thesis.txt"]
    assert stat.S_IMODE(home.stat().st_mode) == 0o755
    empty.mkdir(mode=0o755)
    before = os.umask(0o022)
    try:
        for folder, mode in ((made, 0o700), (empty, 0o755)):
            assert prepare(Settings(folder))
            assert stat.S_IMODE(folder.stat().st_mode) == mode
            assert {stat.S_IMODE(one.stat().st_mode) & 0o077 for one in folder.iterdir()} == {0}
            # A test bed's folder remains usable, and so does one whose database is elsewhere.
            assert prepare(Settings(folder))
            with pytest.raises(InputError, match="holds no test bed"):
                (folder / "testbed.sqlite").rename(tmp_path / "elsewhere.sqlite")
                prepare(Settings(folder))
            assert prepare(Settings(folder, f"sqlite:///{tmp_path / 'elsewhere.sqlite'}"))
    finally:
        os.umask(before)


def test_the_executor_keeps_the_invitation_of_the_web_process(tmp_path: Path) -> None:
    """As two services they start in any order."""
    settings = Settings(tmp_path / "data")
    before = os.umask(0o077)
    try:
        secret = prepare(settings, "web")
        assert secret is not None
        assert prepare(settings, "executor") is None
    finally:
        os.umask(before)
    store = Store(settings.url)
    assert accounts.accept(store, secret, "root", PASSWORD)
    store.close()
