"""Runs the migrations on the connection that :func:`bentpipe.testbed.store.migrate` passes."""

from alembic import context

from bentpipe.testbed.tables import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
