"""Columns for links that reset a password, for lists of invitations, and for inactive accounts"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Applies the migration. Earlier invitations get an identifier, but no author and no time."""
    op.add_column("account", sa.Column("active", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.add_column("invitation", sa.Column("id", sa.String(32), nullable=False, server_default=""))
    op.add_column("invitation", sa.Column("by", sa.String(64), nullable=False, server_default=""))
    op.add_column("invitation", sa.Column("created", sa.Float(), nullable=False, server_default="0"))
    op.add_column("invitation", sa.Column("resets", sa.Integer(), nullable=True))
    op.execute("update invitation set id = substr(hash, 1, 16)")
