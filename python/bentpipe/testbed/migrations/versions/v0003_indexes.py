"""Indexes for the queue: the owner's last run, and the speed of the last runs, without a scan of
all runs"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Applies the change."""
    op.create_index("run_turn", "run", ["owner_id", "started"])
    op.create_index("run_rate", "run", ["instrument", "state", "number"])
