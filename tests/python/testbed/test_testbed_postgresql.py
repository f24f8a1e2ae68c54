"""The parts of the test bed that depend on the database, on PostgreSQL from Debian's package, which
the test starts."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")
pytest.importorskip("psycopg", reason="bentpipe[testbed] is not installed")

from helpers.beds import Bed, _cheap_passwords

from testbed import test_testbed_accounts as accounts
from testbed import test_testbed_queue as queue
from testbed import test_testbed_requests as requests
from testbed import test_testbed_runs as runs
from testbed import test_testbed_scenarios as scenarios

__all__ = ["_cheap_passwords"]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of an empty server at a Unix socket."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("no PostgreSQL: apt install postgresql")
    if os.geteuid() == 0 and not shutil.which("runuser"):
        pytest.skip("PostgreSQL does not run as root, and there is no runuser")
    folder = Path(tempfile.mkdtemp(prefix="bentpipe-postgresql-"))
    become: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        become = ["runuser", "-u", "postgres", "--"]

    def run(program: str, *words: str) -> None:
        command = [*become, str(programs[-1].parent / program), "-D", str(folder / "data"), *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")

    try:
        run("initdb", "--auth=trust", "--username=bed", "--no-sync")
        options = (
            f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off -c max_connections=50"
        )
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql://bed@/NAME?host={folder}"
        finally:
            run("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_numbers = itertools.count()


@pytest.fixture
def bed(server: str, tmp_path: Path) -> Iterator[Bed]:
    import psycopg

    name = f"bed{next(_numbers)}"
    with psycopg.connect(server.replace("NAME", "postgres"), autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
    bed = Bed(tmp_path / "data", server.replace("NAME", name))
    yield bed
    bed.stop()
    bed.store.close()


@pytest.mark.parametrize(
    "case",
    [
        runs.test_a_run_from_its_launch_to_its_results,
        accounts.test_03_the_last_administrator_stays,
        accounts.test_data_and_numbers_of_a_removed_account_are_not_reused,
        accounts.test_05_guessing_is_limited_and_reveals_nothing,
        accounts.test_07_the_first_administrator_comes_by_a_link_that_works_once,
        queue.test_campaigns_and_several_instruments_are_batches,
        scenarios.test_configurations_are_forked_reset_and_shared,
        queue.test_22_24_a_launch_that_is_sent_twice_is_one_run,
        queue.test_22_many_workers_claim_every_run_once,
        queue.test_23_leases_that_run_out_are_reclaimed,
        queue.test_25_users_take_turns,
        queue.test_simultaneous_launches_stay_within_the_limit,
        accounts.test_a_forgotten_password_is_reset_by_a_link_that_works_once,
        accounts.test_an_inactive_account_keeps_its_data,
        requests.test_every_route_survives_nonsense,
        requests.test_28_streams_contain_only_events_that_the_user_may_see,
        accounts.test_29_every_change_is_in_the_audit_log_without_secrets,
    ],
)
def test_on_postgresql(bed: Bed, case: Callable[[Any], None]) -> None:
    case(bed)


def test_its_tables_are_those_of_the_migrations(bed: Bed) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from bentpipe.testbed.tables import Base

    with bed.store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
