"""Runs the migrations on the connection that :func:`bentpipe.testbed.store.migrate` passes."""

from __future__ import annotations

from alembic import context

from bentpipe.testbed.tables import Base


def run() -> None:
    """Runs the migrations."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


# Imports by other modules than Alembic do nothing.
if hasattr(context, "config"):
    run()
