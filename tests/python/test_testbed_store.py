"""The test bed's database and its package. Numbers in names are those of the abuse
cases in docs/decisions/0067-abuse.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from beds import Bed, _cheap_passwords, bed, said, saved
from bentpipe.errors import InputError
from bentpipe.testbed.store import Store, migrate
from sqlalchemy import text
from testbeds import SMALL

__all__ = ["_cheap_passwords", "bed"]


def test_27_a_database_that_cannot_be_written_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another process holds the lock, pages that only read work, and the others say what is wrong."""
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
    """The built page is in what users install, with every file that it names, although git ignores it."""
    import tarfile

    from testbeds import PAGE, ROOT

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
