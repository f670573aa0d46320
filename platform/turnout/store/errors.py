"""What can go wrong with the database.

StoreError
├── UnknownDatabase     DATABASE_URL names a database that Turnout does not speak
└── MalformedUrl        DATABASE_URL is no URL
"""

import asyncpg
from sqlalchemy.exc import SQLAlchemyError

from turnout.errors import TurnoutError

FAILURES = (SQLAlchemyError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError)
"""What a query raises when the database is away: SQLAlchemy wraps no error of connecting."""


class StoreError(TurnoutError):
    """The root of the database's errors."""


class UnknownDatabase(StoreError):
    """The URL's scheme is none that Turnout speaks."""

    def __init__(self, scheme: str) -> None:
        super().__init__(scheme)
        self.scheme = scheme

    def __str__(self) -> str:
        return (
            f"DATABASE_URL begins with '{self.scheme}': use postgresql://… or sqlite:///FILE, "
            "or leave it out for a SQLite file of Turnout's own"
        )


class MalformedUrl(StoreError):
    """The URL cannot be read; it is not repeated, as it may hold a password."""

    def __str__(self) -> str:
        return "DATABASE_URL cannot be read: write postgresql://user:password@host:5432/database"
