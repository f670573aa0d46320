"""Brings a database to the newest schema."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.store.engine import is_postgresql, writing

MIGRATIONS = Path(__file__).with_name("migrations")
_LOCK = 0x7475726E  # "turn": any number that no other program of the database uses


async def migrate(store: AsyncEngine) -> None:
    """Runs the migrations that are missing, in one transaction; does nothing where none is.

    Safe to call from several processes at a time: one migrates, the others wait. SQLite's write
    lock sees to that, and PostgreSQL's advisory lock.
    """
    async with writing(store) as connection:
        if is_postgresql(connection):
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        await connection.run_sync(_upgrade)


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
