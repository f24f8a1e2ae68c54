"""Results, notes and tags of runs; pictures and tags of configurations; courses, comments, saved
views and reservations"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_OF_ACCOUNT = ["account.id"]


def _account(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False)


def upgrade() -> None:
    """Applies the migration. Earlier runs have no results in lists, and earlier configurations get
    their picture when they are saved again."""
    op.create_table(
        "course",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        _account("owner_id"),
        sa.ForeignKeyConstraint(["owner_id"], _OF_ACCOUNT, ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_course_owner_id", "course", ["owner_id"])
    op.create_table(
        "member",
        sa.Column("course_id", sa.Integer(), nullable=False),
        _account("user_id"),
        sa.ForeignKeyConstraint(["course_id"], ["course.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], _OF_ACCOUNT, ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("course_id", "user_id"),
    )
    op.create_index("ix_member_user_id", "member", ["user_id"])
    op.create_table(
        "comment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_number", sa.Integer(), nullable=False),
        _account("user_id"),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_number"], ["run.number"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], _OF_ACCOUNT, ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_comment_run_number", "comment", ["run_number"])
    op.create_index("ix_comment_user_id", "comment", ["user_id"])
    op.create_table(
        "saved_view",
        sa.Column("id", sa.Integer(), nullable=False),
        _account("user_id"),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("query", sa.String(2000), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], _OF_ACCOUNT, ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("user_id", "name"),
    )
    op.create_table(
        "reservation",
        sa.Column("id", sa.Integer(), nullable=False),
        _account("user_id"),
        sa.Column("starts", sa.Float(), nullable=False),
        sa.Column("ends", sa.Float(), nullable=False),
        sa.Column("note", sa.String(200), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], _OF_ACCOUNT, ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_reservation_user_id", "reservation", ["user_id"])
    op.create_index("ix_reservation_starts", "reservation", ["starts"])
    for name in ("goodput", "rtt", "delay", "mos"):
        op.add_column("run", sa.Column(name, sa.Float(), nullable=True))
    op.add_column("run", sa.Column("timeouts", sa.BigInteger(), nullable=True))
    op.add_column("run", sa.Column("verdict", sa.String(16), nullable=False, server_default=""))
    op.add_column("run", sa.Column("bytes", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("run", sa.Column("notes", sa.Text(), nullable=False, server_default=""))
    op.create_index("run_goodput", "run", ["goodput"])
    op.create_index("run_use", "run", ["owner_id", "state", "bytes"])
    op.add_column("configuration", sa.Column("about", sa.String(300), nullable=False, server_default=""))
    op.add_column("configuration", sa.Column("picture", sa.JSON(), nullable=True))
    for table in ("run", "configuration"):
        op.add_column(table, sa.Column("tags", sa.String(600), nullable=False, server_default=""))
        op.add_column(table, sa.Column("course_id", sa.Integer(), nullable=True))
