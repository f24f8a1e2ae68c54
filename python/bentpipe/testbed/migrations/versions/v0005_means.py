"""Columns of runs for the varied values and the confidence level of their campaign"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Applies the migration. The varied values of earlier campaigns remain unknown."""
    op.add_column("run", sa.Column("variation", sa.JSON(), nullable=True))
    op.add_column("run", sa.Column("confidence", sa.Float(), nullable=False, server_default="0.95"))
