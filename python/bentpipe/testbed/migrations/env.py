"""Runs the migrations on the connection that :func:`bentpipe.testbed.store.migrate` passes."""

from __future__ import annotations

from alembic import context

from bentpipe.testbed.tables import Base


def run() -> None:
    """Runs all pending migrations."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


# Only Alembic provides `config`; other imports of this module do nothing.
if hasattr(context, "config"):
    run()
