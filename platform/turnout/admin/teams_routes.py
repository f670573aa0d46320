"""`/admin/teams`."""

from typing import Literal

from fastapi import APIRouter

from turnout.admin.depends import Actor, Acts, Limit, Store
from turnout.admin.errors import NoSuchTeam
from turnout.admin.models import NewTeam, TeamList, TeamName, TeamShown, team_shown
from turnout.store import keys

router = APIRouter(prefix="/admin/teams", tags=["teams"])


@router.get("")
async def list_(
    store: Store,
    after: TeamName | Literal[""] = "",
    limit: Limit = 100,
) -> TeamList:
    """List teams."""
    async with store.connect() as connection:
        found = await keys.list_teams(connection, after, limit)
    data = [team_shown(team) for team in found]
    return TeamList(data=data, next=found[-1].name if len(found) == limit else None)


@router.get("/{name}")
async def show(name: TeamName, store: Store) -> TeamShown:
    """Show a team."""
    async with store.connect() as connection:
        team = await keys.team_of(connection, name)
    if team is None:
        raise NoSuchTeam(name)
    return team_shown(team)


@router.put("/{name}")
async def set_(name: TeamName, new: NewTeam, acts: Acts, actor: Actor) -> TeamShown:
    """Make a team, or change all of it to this."""
    return team_shown(await acts.set_team(actor, name, new))


@router.delete("/{name}", status_code=204)
async def delete(name: TeamName, acts: Acts, actor: Actor) -> None:
    """Delete a team that has no live keys, and its ended keys with it."""
    await acts.delete_team(actor, name)
