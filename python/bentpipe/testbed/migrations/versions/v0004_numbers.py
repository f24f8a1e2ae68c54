"""Numbers of accounts and runs that are never used again; PostgreSQL's never are"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change. Accounts that were removed before it are known from the audit log. Of runs that were removed
    before it nothing has the numbers, so those above the highest one that is there may be used again, once."""
    if op.get_bind().dialect.name != "sqlite":
        return
    for table in ("account", "run"):
        with op.batch_alter_table(table, recreate="always", table_kwargs={"sqlite_autoincrement": True}):
            pass
    # Where SQLite keeps the highest number so far. It has no row for a table that was always empty.
    op.execute(sa.text("delete from sqlite_sequence where name = 'account'"))
    op.execute(
        sa.text(
            "insert into sqlite_sequence select 'account', coalesce(max(id), 0) from "
            "(select id from account union all select user_id from audit)"
        )
    )
