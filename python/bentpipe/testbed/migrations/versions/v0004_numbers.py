"""Numbers of accounts and runs are never reused in SQLite, as in PostgreSQL"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Applies the migration. The numbers of accounts that were removed earlier are known from the
    audit log. Those of runs are unknown, so a number above the highest existing number may be
    reused once."""
    if op.get_bind().dialect.name != "sqlite":
        return
    for table in ("account", "run"):
        with op.batch_alter_table(table, recreate="always", table_kwargs={"sqlite_autoincrement": True}):
            pass
    # SQLite stores the highest number of each table in `sqlite_sequence`. A table that was always
    # empty has no row there.
    op.execute(sa.text("delete from sqlite_sequence where name = 'account'"))
    op.execute(
        sa.text(
            "insert into sqlite_sequence select 'account', coalesce(max(id), 0) from "
            "(select id from account union all select user_id from audit)"
        )
    )
