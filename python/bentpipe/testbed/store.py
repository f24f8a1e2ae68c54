"""Access to the database: connections, transactions and migrations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session, sessionmaker

from bentpipe.errors import InputError

#: Seconds for which an SQLite writer waits for another writer.
BUSY_S: Final = 20.0


class Store:
    """The database of a test bed."""

    def __init__(self, url: str) -> None:
        self.engine = connect(url)
        self.session = sessionmaker(self.engine, expire_on_commit=False)
        #: True if a query takes less time than its delegation to a thread: for SQLite, whose
        #: readers never wait for a writer.
        self.quick = self.engine.dialect.name == "sqlite"

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Yields a session that is committed at the end, or rolled back by an exception."""
        with self.session.begin() as session:
            session.connection(execution_options={"writes": True})
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Yields a session for reading only."""
        with self.session() as session:
            yield session

    def close(self) -> None:
        """Closes all connections to the database."""
        self.engine.dispose()


def connect(url: str) -> Engine:
    """Returns an engine for a URL of SQLite or PostgreSQL."""
    if not url.startswith(("sqlite://", "postgresql")):
        raise InputError(f"{url.split('://')[0]} is not a supported database; allowed: sqlite, postgresql")
    if not url.startswith("sqlite"):
        try:
            import psycopg  # noqa: F401 - SQLAlchemy imports it late, with a less specific error
        except ModuleNotFoundError as error:
            raise InputError(f"PostgreSQL needs the Python package psycopg: {error}") from error
        return create_engine(url.replace("postgresql://", "postgresql+psycopg://"), pool_pre_ping=True)
    engine = create_engine(url, connect_args={"timeout": BUSY_S})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        # Disables the driver's own transactions, which begin late and as readers. A reader cannot
        # become a writer during another write.
        connection.isolation_level = None
        for setting in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        # Writers begin as writers, because a reader cannot become a writer after another
        # transaction has written.
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def migrate(store: Store) -> None:
    """Creates the tables, or updates those of an older version. Raises :class:`bentpipe.InputError`
    for a database from a newer version, and for one that cannot be opened."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    script = ScriptDirectory.from_config(config)
    try:
        with _changing(store.engine) as connection:
            there = MigrationContext.configure(connection).get_current_revision()
            if there is not None and there not in {one.revision for one in script.walk_revisions()}:
                raise InputError(
                    f"the database is from a newer version of bentpipe (revision {there}; this version supports "
                    f"{script.get_current_head()}). It was not changed: update bentpipe, or choose another --data"
                )
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except OperationalError as error:
        raise InputError(f"the database cannot be opened: {error.orig}") from error


@contextmanager
def _changing(engine: Engine) -> Iterator[Connection]:
    """Yields a connection in a transaction that may rebuild tables. When the old table is dropped,
    SQLite deletes the rows of other tables that refer to it, unless foreign keys are turned off
    before the transaction."""
    with engine.connect() as connection:
        if engine.dialect.name != "sqlite":
            with connection.begin():
                yield connection
            return
        driver: Any = connection.connection.driver_connection
        driver.execute("PRAGMA foreign_keys=OFF")
        try:
            with connection.begin():
                yield connection
        finally:
            driver.execute("PRAGMA foreign_keys=ON")
