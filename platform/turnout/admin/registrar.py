"""Makes, changes and ends keys and teams; each act is in the audit log, or did not happen."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from turnout.access.caller import Limits
from turnout.access.secret import hashed, new_key
from turnout.admin.errors import KeyNotLive, NoSuchKey, NoSuchTeam, TeamHasKeys
from turnout.admin.models import NewKey, NewTeam
from turnout.store import audit, keys
from turnout.store.engine import writing
from turnout.store.keys import Key, Team


class Registrar:
    """Acts on the store. `actor` is who does it; keys come back once, as text, and never again."""

    def __init__(self, store: AsyncEngine, now: Callable[[], float] = time.time) -> None:
        self._store, self._now = store, now

    async def create_key(self, actor: str, new: NewKey) -> tuple[Key, str]:
        """Makes a key; raises `NoSuchTeam`."""
        async with self._acting() as connection:
            if await keys.team_of(connection, new.team) is None:
                raise NoSuchTeam(new.team)
            return await self._create(connection, actor, new)

    async def rotate_key(self, actor: str, key_id: str, overlap_s: float) -> tuple[Key, str]:
        """Makes a key like another, which works `overlap_s` seconds more at most.

        A key that was made for a time gets a successor for as long. Raises `NoSuchKey` or
        `KeyNotLive`.
        """
        async with self._acting() as connection:
            now, old = self._now(), await self._live(connection, key_id)
            if old.replaced_by is not None:
                raise KeyNotLive(key_id, f"was replaced by '{old.replaced_by}'")
            new_id, text = new_key()
            lives_s = None if old.expires_at_s is None else old.expires_at_s - old.created_at_s
            new = replace(
                old,
                id=new_id,
                secret_hash=hashed(text),
                created_at_s=now,
                expires_at_s=None if lives_s is None else now + lives_s,
            )
            ends_at = min(now + overlap_s, old.expires_at_s or float("inf"))
            ending = replace(old, expires_at_s=ends_at, replaced_by=new_id)
            await keys.insert_key(connection, new)
            await keys.update_key(connection, ending)
            await self._log(connection, actor, "key.create", new_id, None, _told(new))
            await self._log(connection, actor, "key.rotate", key_id, _told(old), _told(ending))
            return new, text

    async def revoke_key(self, actor: str, key_id: str) -> Key:
        """Ends a key; raises `NoSuchKey`, or `KeyNotLive` where it is at its end already."""
        async with self._acting() as connection:
            old = await self._live(connection, key_id)
            ended = replace(old, revoked_at_s=self._now())
            await keys.update_key(connection, ended)
            await self._log(connection, actor, "key.revoke", key_id, _told(old), _told(ended))
            return ended

    async def set_team(self, actor: str, name: str, new: NewTeam) -> Team:
        """Makes a team, or changes it to this."""
        async with self._acting() as connection:
            return await self._put_team(connection, actor, name, new)

    async def delete_team(self, actor: str, name: str) -> None:
        """Deletes a team and its ended keys; raises `NoSuchTeam` or `TeamHasKeys`."""
        async with self._acting() as connection:
            team = await keys.team_of(connection, name)
            if team is None:
                raise NoSuchTeam(name)
            live = await keys.count_live(connection, name, self._now())
            if live:
                raise TeamHasKeys(name, live)
            await keys.delete_team(connection, name)
            await self._log(connection, actor, "team.delete", name, _told(team), None)

    @asynccontextmanager
    async def _acting(self) -> AsyncIterator[AsyncConnection]:
        async with writing(self._store) as connection:
            await audit.lock(connection)
            yield connection

    async def _create(
        self, connection: AsyncConnection, actor: str, new: NewKey
    ) -> tuple[Key, str]:
        now = self._now()
        key_id, text = new_key()
        key = Key(
            id=key_id,
            team=new.team,
            name=new.name,
            secret_hash=hashed(text),
            scopes=frozenset(new.scopes),
            models=new.models,
            limits=new.limits.limits,
            created_at_s=now,
            expires_at_s=None if new.expires_in_s is None else now + new.expires_in_s,
        )
        await keys.insert_key(connection, key)
        await self._log(connection, actor, "key.create", key_id, None, _told(key))
        return key, text

    async def _live(self, connection: AsyncConnection, key_id: str) -> Key:
        key = await keys.key_of(connection, key_id)
        if key is None:
            raise NoSuchKey(key_id)
        if not key.is_live(self._now()):
            raise KeyNotLive(key_id, "has expired" if key.revoked_at_s is None else "was revoked")
        return key

    async def _put_team(
        self, connection: AsyncConnection, actor: str, name: str, new: NewTeam
    ) -> Team:
        old = await keys.team_of(connection, name)
        created_at_s = old.created_at_s if old else self._now()
        team = Team(name, new.models, new.limits.limits, created_at_s)
        await keys.put_team(connection, team, is_new=old is None)
        act = "team.create" if old is None else "team.change"
        await self._log(connection, actor, act, name, _told(old) if old else None, _told(team))
        return team

    async def _log(
        self,
        connection: AsyncConnection,
        actor: str,
        act: str,
        subject: str,
        *states: Mapping[str, Any] | None,
    ) -> None:
        await audit.append(connection, audit.Act(self._now(), actor, act, subject, *states))


def _told(record: Key | Team) -> dict[str, Any]:
    """Returns a record as the audit log keeps it: everything but the secret's hash."""
    return {name: _plain(value) for name, value in vars(record).items() if name != "secret_hash"}


def _plain(value: Any) -> Any:
    if isinstance(value, Limits):
        return keys.limits_json(value)
    return sorted(value) if isinstance(value, frozenset) else value
