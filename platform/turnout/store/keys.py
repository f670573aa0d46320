"""Reads and writes keys and teams."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Row, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from turnout.access.caller import Limits
from turnout.store.tables import keys, teams


@dataclass(frozen=True)
class Team:
    """A team as it is stored."""

    name: str
    models: frozenset[str] | None
    limits: Limits
    created_at_s: float


@dataclass(frozen=True)
class Key:
    """A key as it is stored: its secret as a hash only."""

    id: str
    team: str
    name: str
    secret_hash: str
    scopes: frozenset[str]
    models: frozenset[str] | None
    limits: Limits
    created_at_s: float
    expires_at_s: float | None = None
    revoked_at_s: float | None = None
    replaced_by: str | None = None

    def is_live(self, at_s: float) -> bool:
        """Tells whether the key is taken at a moment."""
        return self.revoked_at_s is None and (self.expires_at_s is None or at_s < self.expires_at_s)


async def find(store: AsyncEngine, ids: Sequence[str]) -> Mapping[str, tuple[Key, Team]]:
    """Returns the keys that exist among `ids`, with their teams, in one query."""
    team_columns = [column.label(f"team_{column.name}") for column in teams.c]
    query = select(keys, *team_columns).join(teams).where(keys.c.id.in_(ids))
    async with store.connect() as connection:
        rows = (await connection.execute(query)).all()
    return {row.id: (_key(row), _team(row, "team_")) for row in rows}


async def key_of(connection: AsyncConnection, key_id: str) -> Key | None:
    """Returns a key, or None."""
    row = (await connection.execute(select(keys).where(keys.c.id == key_id))).first()
    return None if row is None else _key(row)


async def team_of(connection: AsyncConnection, name: str) -> Team | None:
    """Returns a team, or None."""
    row = (await connection.execute(select(teams).where(teams.c.name == name))).first()
    return None if row is None else _team(row)


async def list_keys(
    connection: AsyncConnection, team: str | None, after: str, limit: int
) -> list[Key]:
    """Returns up to `limit` keys by id, of one team or of all, from the one after `after` on."""
    query = select(keys).where(keys.c.id > after).order_by(keys.c.id).limit(limit)
    if team is not None:
        query = query.where(keys.c.team == team)
    return [_key(row) for row in await connection.execute(query)]


async def list_teams(connection: AsyncConnection, after: str, limit: int) -> list[Team]:
    """Returns up to `limit` teams by name, from the one after `after` on."""
    query = select(teams).where(teams.c.name > after).order_by(teams.c.name).limit(limit)
    return [_team(row) for row in await connection.execute(query)]


async def count_live(connection: AsyncConnection, team: str, at_s: float) -> int:
    """Returns how many keys of a team are taken at a moment."""
    query = (
        select(func.count())
        .select_from(keys)
        .where(keys.c.team == team, keys.c.revoked_at_s.is_(None))
        .where(or_(keys.c.expires_at_s.is_(None), keys.c.expires_at_s > at_s))
    )
    return (await connection.execute(query)).scalar_one()


async def insert_key(connection: AsyncConnection, key: Key) -> None:
    """Adds a key."""
    await connection.execute(insert(keys).values(_columns(key)))


async def update_key(connection: AsyncConnection, key: Key) -> None:
    """Writes a key over the one with its id."""
    await connection.execute(update(keys).where(keys.c.id == key.id).values(_columns(key)))


async def put_team(connection: AsyncConnection, team: Team, *, is_new: bool) -> None:
    """Adds a team, or writes it over the one with its name."""
    if is_new:
        await connection.execute(insert(teams).values(_columns(team)))
    else:
        change = update(teams).where(teams.c.name == team.name)
        await connection.execute(change.values(_columns(team)))


async def delete_team(connection: AsyncConnection, name: str) -> None:
    """Deletes a team with its keys."""
    await connection.execute(delete(keys).where(keys.c.team == name))
    await connection.execute(delete(teams).where(teams.c.name == name))


def limits_json(limits: Limits) -> dict[str, Any]:
    """Returns the limits that are set."""
    return {name: value for name, value in asdict(limits).items() if value is not None}


def _columns(record: Key | Team) -> dict[str, Any]:
    columns = {name: _plain(value) for name, value in vars(record).items()}
    return {**columns, "limits": limits_json(record.limits)}


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value


def _key(row: Row[Any]) -> Key:
    values = {column.name: row._mapping[column.name] for column in keys.c}
    return Key(**{**values, **_typed(values), "scopes": frozenset(values["scopes"])})


def _team(row: Row[Any], prefix: str = "") -> Team:
    values = {column.name: row._mapping[prefix + column.name] for column in teams.c}
    return Team(**{**values, **_typed(values)})


def _typed(values: Mapping[str, Any]) -> dict[str, Any]:
    models = values["models"]
    return {
        "models": None if models is None else frozenset(models),
        "limits": Limits(**values["limits"]),
    }
