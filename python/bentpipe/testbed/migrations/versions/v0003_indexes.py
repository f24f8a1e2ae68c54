"""Indexes for queries of the queue: the last run of an owner, and the speed of the latest runs"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the indexes of runs."""
    op.create_index("run_turn", "run", ["owner_id", "started"])
    op.create_index("run_rate", "run", ["instrument", "state", "number"])
