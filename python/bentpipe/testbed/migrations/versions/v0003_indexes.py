"""Indexes for the queue: whose turn it is, and how fast the last runs were, without a look at every run"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_index("run_turn", "run", ["owner_id", "started"])
    op.create_index("run_rate", "run", ["instrument", "state", "number"])
