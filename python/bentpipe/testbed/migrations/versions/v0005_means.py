"""Runs know the values that their campaign varies, and the confidence of the intervals of its means"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change. What campaigns launched before it have varied is not known."""
    op.add_column("run", sa.Column("variation", sa.JSON(), nullable=True))
    op.add_column("run", sa.Column("confidence", sa.Float(), nullable=False, server_default="0.95"))
