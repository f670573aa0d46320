"""What the admin API's routes are given."""

from typing import Annotated

from fastapi import Depends, Query, Request
from sqlalchemy.ext.asyncio import AsyncEngine

from turnout.admin.registrar import Registrar


def _actor(request: Request) -> str:
    return str(request.scope["state"]["actor"])


def _store(request: Request) -> AsyncEngine:
    store: AsyncEngine = request.app.state.store
    return store


def _registrar(request: Request) -> Registrar:
    return Registrar(_store(request))


Actor = Annotated[str, Depends(_actor)]
"""The name of whoever holds the admin key that was sent."""
Store = Annotated[AsyncEngine, Depends(_store)]
Acts = Annotated[Registrar, Depends(_registrar)]
Limit = Annotated[int, Query(ge=1, le=1000, description="Entries in the answer at most.")]
