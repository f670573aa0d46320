"""Tells who calls by the keys in the store; answers from memory, also while the store is away.

A key is asked for again in the background once it is half as old as `fresh_s`, so requests seldom
wait for the store, and a change (a key revoked, a limit raised) holds within `fresh_s`. While the
store is away, keys that are known keep working up to `stale_s`, never beyond their own expiry.
"""

import time
from collections.abc import Callable, Mapping, Sequence

from turnout.access.caller import Caller, Denied
from turnout.access.known import Entry, Memory, entry_of, judge, standing
from turnout.access.lookup import Find, Found, Lookup, Unreachable
from turnout.access.secret import id_of, presented
from turnout.config.settings import AccessSettings

Clock = Callable[[], float]
NO_KEY = Denied("no key was sent")
UNTOLD = Denied("keys cannot be checked now", is_temporary=True)
NO_SUCH_FORM = Denied("what was sent is no key of this gateway")


class Directory:
    """Implements `Access`; `find` asks the store (`turnout.store.keys.find`)."""

    def __init__(
        self,
        find: Find,
        settings: AccessSettings,
        *,
        now: Clock = time.time,
        steady: Clock = time.monotonic,
    ) -> None:
        self._settings = settings
        self._now, self._steady = now, steady
        self._memory = Memory(settings.max_known_keys)
        self._lookup = Lookup(find, self._learn, settings.lookup_timeout_s, steady)

    def configure(self, settings: AccessSettings) -> None:
        """Takes new settings; what is known stays."""
        self._settings = settings
        self._memory.most = settings.max_known_keys
        self._lookup.timeout_s = settings.lookup_timeout_s

    async def identify(self, headers: Mapping[bytes, bytes]) -> Caller | Denied:
        """Returns the caller of a request, or why there is none."""
        key = presented(headers)
        if key is None:
            return NO_KEY
        key_id = id_of(key)
        if key_id is None:
            return NO_SUCH_FORM
        entry = await self._entry(key_id)
        return UNTOLD if entry is None else judge(entry, key, self._now())

    async def caller_of(self, key_id: str) -> Caller | Denied:
        """Returns whom a key stands for that was shown before, or the key it was rotated to."""
        while True:
            entry = await self._entry(key_id)
            if entry is None:
                return UNTOLD
            found = standing(entry, self._now())
            if isinstance(found, Caller) or entry.key is None or entry.key.replaced_by is None:
                return found
            key_id = entry.key.replaced_by

    async def _entry(self, key_id: str) -> Entry | None:
        """Returns what is known of a key, as fresh as it must be."""
        entry = self._memory.get(key_id)
        age_s = self._age_s(entry)
        if entry is None or age_s >= self._settings.fresh_s:
            entry = await self._newest(key_id, entry)
        elif age_s >= self._settings.fresh_s / 2:
            self._lookup.ask(key_id)
        return entry

    async def close(self) -> None:
        """Stops asking the store."""
        await self._lookup.close()

    async def _newest(self, key_id: str, entry: Entry | None) -> Entry | None:
        """Returns what the store says, else the entry while it may still be used."""
        if entry is not None and self._lookup.is_failing:
            self._lookup.ask(key_id)
            return self._if_usable(entry)
        try:
            await self._lookup.wait(key_id)
        except Unreachable:
            return self._if_usable(entry)
        return self._memory.get(key_id)

    def _if_usable(self, entry: Entry | None) -> Entry | None:
        """Returns an entry that may be used without the store; "no such key" never may."""
        if entry is None or entry.key is None or self._age_s(entry) > self._settings.stale_s:
            return None
        return entry

    def _age_s(self, entry: Entry | None) -> float:
        return self._steady() - entry.asked_at if entry else 0.0

    def _learn(self, ids: Sequence[str], found: Found, asked_at: float) -> None:
        for key_id in ids:
            self._memory.put(key_id, entry_of(found.get(key_id), asked_at))
