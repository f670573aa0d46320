"""What a gateway remembers of the keys it has seen. Pure; times are of a steady clock."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import cast

from turnout.access.caller import Caller, Denied, Scope
from turnout.access.secret import proves
from turnout.store.keys import Key, Team

UNKNOWN = Denied("this key is not known here")
REVOKED = Denied("this key was revoked")
EXPIRED = Denied("this key has expired")


@dataclass(frozen=True)
class Entry:
    """One public id as the store told it at a moment; `key` is None where there is no such key."""

    asked_at: float
    key: Key | None = None
    caller: Caller | None = None


def entry_of(found: tuple[Key, Team] | None, asked_at: float) -> Entry:
    """Returns the entry of what the store has under an id."""
    if found is None:
        return Entry(asked_at)
    key, team = found
    caller = Caller(
        key_id=key.id,
        team=team.name,
        scopes=cast(frozenset[Scope], key.scopes),
        models=both(team.models, key.models),
        key_limits=key.limits,
        team_limits=team.limits,
    )
    return Entry(asked_at, key, caller)


def both(first: frozenset[str] | None, second: frozenset[str] | None) -> frozenset[str] | None:
    """Returns what two lists of models allow together; None allows every model."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def judge(entry: Entry, presented: str, at_s: float) -> Caller | Denied:
    """Tells who presents a key at a moment (seconds since 1970).

    Whether the key was revoked or has expired is told only to whom holds the whole key.
    """
    is_right = proves(presented, entry.key.secret_hash if entry.key else None)
    return standing(entry, at_s) if is_right else UNKNOWN


def standing(entry: Entry, at_s: float) -> Caller | Denied:
    """Tells whom a key stands for at a moment, whoever presents it."""
    key = entry.key
    if key is None or entry.caller is None:
        return UNKNOWN
    if key.is_live(at_s):
        return entry.caller
    return EXPIRED if key.revoked_at_s is None else REVOKED


class Memory:
    """Entries by id, those used least recently forgotten first.

    Ids without a key are kept apart: no flood of them drives a known key out.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._known: OrderedDict[str, Entry] = OrderedDict()
        self._unknown: OrderedDict[str, Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known) + len(self._unknown)

    def get(self, key_id: str) -> Entry | None:
        """Returns what is remembered of an id."""
        for entries in (self._known, self._unknown):
            if key_id in entries:
                entries.move_to_end(key_id)
                return entries[key_id]
        return None

    def put(self, key_id: str, entry: Entry) -> None:
        """Remembers an entry in place of the one before."""
        into, other = self._known, self._unknown
        if entry.key is None:
            into, other = other, into
        other.pop(key_id, None)
        into[key_id] = entry
        into.move_to_end(key_id)
        while len(into) > self.most:
            into.popitem(last=False)
