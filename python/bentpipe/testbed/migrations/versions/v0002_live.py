"""Slowed-down runs, and manual changes of runs in progress"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the columns and the table."""
    op.add_column("run", sa.Column("pace", sa.Float(), nullable=True))
    op.add_column("run", sa.Column("duration", sa.Float(), nullable=False, server_default="0"))
    op.create_table(
        "change",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_number", sa.Integer(), nullable=False),
        sa.Column("user", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("value", sa.String(length=500), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("done", sa.Float(), nullable=True),
        sa.Column("refused", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run_number"], ["run.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_change_run_number", "change", ["run_number"])
