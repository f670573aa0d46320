"""The admin API's bodies. Times are seconds since 1970."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from turnout.access.caller import Limits, Scope
from turnout.config.settings import Name
from turnout.store.keys import Key, Team

TeamName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=128)]
KeyName = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=128)]
Seconds = Annotated[float, Field(gt=0, le=3.2e8, allow_inf_nan=False)]
Usd = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(gt=0, le=2**53)]


class Body(BaseModel):
    """Base of all bodies: immutable, and a field nobody knows is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LimitsBody(Body):
    """What a key or a team may use at most; what is left out has no limit."""

    requests_per_minute: Count | None = Field(None, description="Requests begun per minute.")
    tokens_per_minute: Count | None = Field(None, description="Prompt and answer together.")
    concurrent_requests: Count | None = Field(None, description="Requests running at a time.")
    usd_per_day: Usd | None = Field(None, description="Budget of a calendar day, UTC.")
    usd_per_month: Usd | None = Field(None, description="Budget of a calendar month, UTC.")
    alert_share: float = Field(
        0.8, gt=0, le=1, description="Share of a budget from which it counts as nearly spent."
    )

    @property
    def limits(self) -> Limits:
        """The limits as the gateway knows them."""
        return Limits(**self.model_dump())

    @classmethod
    def of(cls, limits: Limits) -> Self:
        """Returns the body of limits."""
        return cls(**vars(limits))


class NewKey(Body):
    """A key to make."""

    team: TeamName = Field(description="Whose key it is; the team must exist.")
    name: KeyName = Field(description="What it is for, in its owner's words.")
    scopes: frozenset[Scope] = Field(
        default=frozenset({"inference"}), min_length=1, description="What it may be used for."
    )
    models: frozenset[Name] | None = Field(
        None, description="Models it may use, among its team's; null is all of these."
    )
    limits: LimitsBody = Field(LimitsBody(), description="Limits of this key alone.")
    expires_in_s: Seconds | None = Field(None, description="Seconds it works; null is for ever.")


class Rotation(Body):
    """How to replace a key."""

    overlap_s: float = Field(
        default=86_400.0,
        ge=0,
        le=3.2e8,
        allow_inf_nan=False,
        description="Seconds that the old key still works.",
    )


class NewTeam(Body):
    """A team as it shall be."""

    models: frozenset[Name] | None = Field(None, description="Models it may use; null is every.")
    limits: LimitsBody = Field(LimitsBody(), description="Limits of all its keys together.")


class KeyShown(Body):
    """A key without its secret."""

    id: str
    team: str
    name: str
    status: Literal["live", "expired", "revoked"]
    scopes: list[str]
    models: list[str] | None
    limits: LimitsBody
    created_at_s: float
    expires_at_s: float | None
    revoked_at_s: float | None
    replaced_by: str | None


class KeyMade(KeyShown):
    """A new key. This answer is the only place where its secret is ever shown."""

    key: str


class TeamShown(Body):
    """A team."""

    name: str
    models: list[str] | None
    limits: LimitsBody
    created_at_s: float


class KeyList(Body):
    """Keys by id; `next` goes into `after` for those that follow."""

    data: list[KeyShown]
    next: str | None = None


class TeamList(Body):
    """Teams by name; `next` goes into `after` for those that follow."""

    data: list[TeamShown]
    next: str | None = None


class AuditRow(Body):
    """One act: who did what to whom and when, and how that looked before and after."""

    sequence: int
    at_s: float
    actor: str
    act: str
    subject: str
    before: str | None = Field(description="Canonical JSON, as the hash covers it.")
    after: str | None
    previous_hash: str
    hash: str


class AuditList(Body):
    """Acts, newest first; `next` goes into `before` for those that precede."""

    data: list[AuditRow]
    next: int | None = None


class AuditVerdict(Body):
    """Whether the audit log is whole."""

    is_whole: bool
    rows: int = Field(description="Rows that hold, from the first on.")
    head: str = Field(description="Hash of the last of them: note it, and pass it next time.")
    broken_at: int | None = Field(description="Sequence of the first row that does not hold.")
    problem: str | None


def key_shown(key: Key, at_s: float) -> KeyShown:
    """Returns a key as it is shown at a moment."""
    ended: Literal["expired", "revoked"] = "expired" if key.revoked_at_s is None else "revoked"
    return KeyShown(
        id=key.id,
        team=key.team,
        name=key.name,
        status="live" if key.is_live(at_s) else ended,
        scopes=sorted(key.scopes),
        models=None if key.models is None else sorted(key.models),
        limits=LimitsBody.of(key.limits),
        created_at_s=key.created_at_s,
        expires_at_s=key.expires_at_s,
        revoked_at_s=key.revoked_at_s,
        replaced_by=key.replaced_by,
    )


def team_shown(team: Team) -> TeamShown:
    """Returns a team as it is shown."""
    return TeamShown(
        name=team.name,
        models=None if team.models is None else sorted(team.models),
        limits=LimitsBody.of(team.limits),
        created_at_s=team.created_at_s,
    )
