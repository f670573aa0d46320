"""`/admin/keys`."""

import time
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi import Path as InPath

from turnout.admin.depends import Actor, Acts, Limit, Store
from turnout.admin.errors import NoSuchKey
from turnout.admin.models import KeyList, KeyMade, KeyShown, NewKey, Rotation, TeamName, key_shown
from turnout.store import keys
from turnout.store.keys import Key

router = APIRouter(prefix="/admin/keys", tags=["keys"])
After = Annotated[
    str, Query(pattern=r"^[0-9a-f]*$", max_length=32, description="`next` of the page before.")
]
KeyId = Annotated[str, InPath(pattern=r"^[0-9a-f]{16}$", description="A key's public id.")]


@router.post("", status_code=201)
async def create(new: NewKey, acts: Acts, actor: Actor) -> KeyMade:
    """Make a key; its secret is in this answer and nowhere else."""
    return _made(*await acts.create_key(actor, new))


@router.get("")
async def list_(
    store: Store,
    team: Annotated[TeamName | None, Query(description="Only this team's.")] = None,
    after: After = "",
    limit: Limit = 100,
) -> KeyList:
    """List keys, without their secrets."""
    async with store.connect() as connection:
        found = await keys.list_keys(connection, team, after, limit)
    data = [key_shown(key, time.time()) for key in found]
    return KeyList(data=data, next=found[-1].id if len(found) == limit else None)


@router.get("/{key_id}")
async def show(key_id: KeyId, store: Store) -> KeyShown:
    """Show a key, without its secret."""
    async with store.connect() as connection:
        key = await keys.key_of(connection, key_id)
    if key is None:
        raise NoSuchKey(key_id)
    return key_shown(key, time.time())


@router.post("/{key_id}/rotate", status_code=201)
async def rotate(
    key_id: KeyId, acts: Acts, actor: Actor, rotation: Rotation | None = None
) -> KeyMade:
    """Make a key in another's place; both work until the overlap is over."""
    overlap_s = (rotation or Rotation()).overlap_s
    return _made(*await acts.rotate_key(actor, key_id, overlap_s))


@router.post("/{key_id}/revoke")
async def revoke(key_id: KeyId, acts: Acts, actor: Actor) -> KeyShown:
    """End a key; gateways stop taking it within seconds (`access.fresh_s`)."""
    return key_shown(await acts.revoke_key(actor, key_id), time.time())


def _made(key: Key, text: str) -> KeyMade:
    return KeyMade(**key_shown(key, key.created_at_s).model_dump(), key=text)
