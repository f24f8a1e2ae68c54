"""Numbers of accounts and runs are never reused in SQLite, as in PostgreSQL"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Applies the migration. The audit log has the numbers of accounts that were removed earlier.
    The numbers of runs that were removed earlier are unknown, so numbers above the highest existing
    one may be reused once."""
    if op.get_bind().dialect.name != "sqlite":
        return
    for table in ("account", "run"):
        with op.batch_alter_table(table, recreate="always", table_kwargs={"sqlite_autoincrement": True}):
            pass
    # SQLite stores the highest number so far in this table. It has no row for a table that was
    # always empty.
    op.execute(sa.text("delete from sqlite_sequence where name = 'account'"))
    op.execute(
        sa.text(
            "insert into sqlite_sequence select 'account', coalesce(max(id), 0) from "
            "(select id from account union all select user_id from audit)"
        )
    )
