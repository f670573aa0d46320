"""Runs migrations on the connection that `turnout.store.migrate` hands over; Alembic loads it."""

from alembic import context

from turnout.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=True,  # SQLite cannot alter a column in place
)
with context.begin_transaction():
    context.run_migrations()
