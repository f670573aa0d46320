"""The door acts on what the room decides as soon as it has."""

import asyncio
import math

from turnout.gateway.overload.door import Door
from turnout.gateway.overload.places import Places
from turnout.gateway.overload.room import Ticket
from turnout.gateway.overload.urgency import Priority


def ticket(at_s: float) -> Ticket:
    return Ticket(Priority.NORMAL, at_s, math.inf)


async def test_who_leaves_wakes_the_next_one_at_once() -> None:
    door = Door(lambda _own: Places(1))
    now_s = door.now_s()
    first, second = ticket(now_s), ticket(now_s)
    assert door.room.runs_at_once(first, now_s)
    waits = asyncio.create_task(door.wait(second, 10, None))
    await asyncio.sleep(0)
    door.leave(first, None)
    await asyncio.sleep(0)  # no timer could have told it
    await asyncio.sleep(0)
    assert waits.done()
    assert await waits is None


async def test_a_place_given_to_a_client_that_has_just_left_goes_to_the_next_one() -> None:
    door = Door(lambda _own: Places(1))
    now_s = door.now_s()
    first, leaves, last = (ticket(now_s) for _ in range(3))
    assert door.room.runs_at_once(first, now_s)
    gone = asyncio.create_task(door.wait(leaves, 10, None))
    stays = asyncio.create_task(door.wait(last, 10, None))
    await asyncio.sleep(0)
    door.leave(first, None)
    gone.cancel()
    assert await stays is None
    assert (door.room.running, door.room.waiting) == (1, 0)


async def test_the_most_that_ran_within_two_tellings_of_an_engine_is_what_is_looked_with() -> None:
    seen: list[int] = []

    def look(own: int) -> Places:
        seen.append(own)
        return Places(10)

    door = Door(look)
    now_s = door.now_s()
    tickets = [ticket(now_s) for _ in range(4)]
    assert all(door.room.runs_at_once(each, now_s) for each in tickets)
    for each in tickets:
        door.leave(each, None)
    door._see(now_s + 0.5)
    door._see(now_s + 1.5)
    door._see(now_s + 2.6)
    door._see(now_s + 3.7)
    assert seen == [0, 4, 4, 0, 0]
