"""Who runs, who waits behind whom and who is refused, on a clock that the test sets."""

import math

import pytest

from turnout.gateway.overload.places import Places
from turnout.gateway.overload.room import Decided, Reason, Room, Ticket
from turnout.gateway.overload.urgency import Priority

INTERACTIVE, NORMAL, BATCH = Priority.INTERACTIVE, Priority.NORMAL, Priority.BATCH
MOST = 100


def room_of(places: int | None, *, is_pressed: bool = False) -> Room:
    room = Room()
    room.see(Places(places, is_pressed), 0.0)
    return room


def ask(
    room: Room,
    priority: Priority = NORMAL,
    at_s: float = 0.0,
    first_by_s: float = math.inf,
    most: int = MOST,
) -> tuple[Ticket, list[Decided]]:
    """A request comes; returns its ticket and who is refused for it."""
    ticket = Ticket(priority, at_s, first_by_s)
    ticket.patience_s = 10.0
    if room.runs_at_once(ticket, at_s):
        return ticket, []
    return ticket, room.enter(ticket, at_s, most)


def full(places: int, place_s: float = 0.0) -> tuple[Room, list[Ticket]]:
    """A room all of whose places are taken, by requests that keep them for `place_s`."""
    room = room_of(places)
    running = [ask(room)[0] for _ in range(places)]
    if place_s:
        room.pace.left(place_s)
    return room, running


def order_of(room: Room, tickets: list[Ticket], now_s: float) -> list[int]:
    """Frees one place after the other; returns which tickets get them."""
    room.see(Places(1000), now_s)
    return [tickets.index(ticket) for ticket, refusal in room.admit(now_s) if refusal is None]


def test_requests_run_at_once_while_there_are_places() -> None:
    room = room_of(2)
    tickets = [ask(room)[0] for _ in range(3)]
    assert [ticket.admitted_s for ticket in tickets] == [0.0, 0.0, None]
    assert (room.running, room.waiting) == (2, 1)


def test_without_a_bound_nobody_waits() -> None:
    room = room_of(None)
    assert all(ask(room)[0].admitted_s == 0.0 for _ in range(5000))


def test_who_leaves_hands_the_place_to_the_first_who_waits() -> None:
    room, (running,) = full(1)
    first, second = ask(room, at_s=1)[0], ask(room, at_s=2)[0]
    room.leave(running, 3.0)
    assert room.admit(3.0) == [(first, None)]
    assert (first.admitted_s, second.admitted_s) == (3.0, None)
    assert (room.running, room.waiting) == (1, 1)


def test_a_newcomer_does_not_pass_those_who_wait() -> None:
    room, (running,) = full(1)
    waits, _ = ask(room)
    room.leave(running, 1.0)
    late, _ = ask(room, at_s=1.0)
    assert late.admitted_s is None
    assert room.admit(1.0) == [(waits, None)]


def test_who_stops_waiting_is_forgotten() -> None:
    room, (running,) = full(1)
    tickets = [ask(room, at_s=at)[0] for at in (1, 2, 3)]
    room.leave(tickets[1], 4.0)
    room.leave(tickets[1], 4.0)
    assert (room.running, room.waiting) == (1, 2)
    room.leave(running, 5.0)
    assert order_of(room, tickets, 5.0) == [0, 2]


def test_interactive_comes_before_normal_and_batch_is_last() -> None:
    room, _ = full(1)
    tickets = [
        ask(room, priority, at)[0]
        for at, priority in enumerate([BATCH, NORMAL, INTERACTIVE, NORMAL, INTERACTIVE])
    ]
    assert order_of(room, tickets, 9.0) == [2, 4, 1, 3, 0]


def test_a_normal_request_is_passed_by_interactive_ones_of_the_next_thirty_seconds() -> None:
    room, _ = full(1)
    tickets = [ask(room, NORMAL, 0)[0]]
    tickets += [ask(room, INTERACTIVE, at)[0] for at in (29.9, 30.1)]
    assert order_of(room, tickets, 31.0) == [1, 0, 2]


def test_a_batch_request_never_passes_another_however_long_it_waited() -> None:
    room, _ = full(1)
    tickets = [ask(room, BATCH, 0)[0], ask(room, NORMAL, 1e6)[0]]
    assert order_of(room, tickets, 1e6) == [1, 0]


@pytest.mark.parametrize(("places", "expected"), [(1, 1), (2, 1), (8, 7), (10, 9), (64, 58)])
def test_batch_leaves_a_tenth_of_the_places_free_and_at_least_one_of_several(
    places: int, expected: int
) -> None:
    room = room_of(places)
    for _ in range(places + 5):
        ask(room, BATCH)
    assert room.running == expected
    normal, _ = ask(room)
    assert (normal.admitted_s is not None) == (places > 1)


def test_batch_waits_while_anybody_else_does() -> None:
    room, running = full(4)
    waits, _ = ask(room)
    batch, _ = ask(room, BATCH)
    room.leave(running[0], 1.0)
    assert room.admit(1.0) == [(waits, None)]
    room.leave(running[1], 2.0)
    assert room.admit(2.0) == []  # the place that is left is kept free
    room.leave(running[2], 3.0)
    assert room.admit(3.0) == [(batch, None)]


def test_where_nothing_is_bounded_batch_waits_while_an_engine_has_a_queue() -> None:
    room = room_of(None, is_pressed=True)
    batch, _ = ask(room, BATCH)
    assert ask(room)[0].admitted_s == 0.0
    assert batch.admitted_s is None
    room.see(Places(None), 1.0)
    assert room.admit(1.0) == [(batch, None)]


def test_a_full_room_refuses_a_newcomer_that_is_not_more_urgent() -> None:
    room, _ = full(2, place_s=6.0)
    for _ in range(3):
        ask(room, most=3)
    ticket, ((refused, refusal),) = ask(room, most=3)
    assert refused is ticket
    assert refusal is not None
    assert refusal.reason is Reason.FULL
    # Behind 3 others with 2 places of 6 s each: one is left every 3 s.
    assert refusal.retry_after_s == pytest.approx(12.0)
    assert room.waiting == 3


def test_a_full_room_displaces_the_last_of_the_lowest_priority_for_a_higher_one() -> None:
    room, _ = full(1)
    tickets = [
        ask(room, priority, at, most=4)[0]
        for at, priority in enumerate([NORMAL, BATCH, NORMAL, BATCH])
    ]
    for expected in (3, 1, 2, 0):
        _, ((refused, refusal),) = ask(room, INTERACTIVE, 5, most=4)
        assert refused is tickets[expected]
        assert refusal is not None
        assert refusal.reason is Reason.FULL
    ticket, ((refused, _),) = ask(room, INTERACTIVE, 6, most=4)
    assert refused is ticket


def test_nobody_waits_in_a_room_without_seats() -> None:
    room, _ = full(1)
    ticket, ((refused, _),) = ask(room, INTERACTIVE, most=0)
    assert refused is ticket


def test_a_deadline_that_the_queue_does_not_allow_is_refused_on_arrival() -> None:
    """Two places of 4 s: one is left every 2 s, so the third who waits has it after 6 s."""
    room, _ = full(2, place_s=4.0)
    ask(room)
    ask(room)
    on_time, refused = ask(room, at_s=0.0, first_by_s=6.1)
    assert refused == []
    room.leave(on_time, 0.0)
    ticket, ((late, refusal),) = ask(room, at_s=0.0, first_by_s=5.0)
    assert late is ticket
    assert refusal is not None
    assert refusal.reason is Reason.LATE
    assert refusal.retry_after_s == pytest.approx(1.0)


def test_a_more_urgent_request_is_judged_by_those_before_it_only() -> None:
    room, _ = full(2, place_s=4.0)
    for _ in range(10):
        ask(room)
    assert ask(room, INTERACTIVE, first_by_s=2.1)[1] == []


def test_a_deadline_shorter_than_the_first_token_takes_is_refused_while_places_are_free() -> None:
    room = room_of(4)
    room.pace.began(1.0, 0.0)
    assert ask(room, at_s=0.0, first_by_s=1.1)[0].admitted_s == 0.0
    _, ((_, refusal),) = ask(room, at_s=0.0, first_by_s=0.9)
    assert refusal is not None
    assert refusal.reason is Reason.LATE


def test_who_cannot_make_it_any_more_is_refused_while_waiting() -> None:
    room, _ = full(1, place_s=2.0)
    waits, _ = ask(room, first_by_s=3.0)
    assert room.sweep(0.9) == []
    ((refused, refusal),) = room.sweep(1.1)
    assert refused is waits
    assert refusal is not None
    assert refusal.reason is Reason.LATE
    assert room.waiting == 0


def test_those_far_behind_lose_hope_first_when_places_are_kept_longer() -> None:
    room, _ = full(1, place_s=2.0)
    first, second = ask(room, first_by_s=5.0)[0], ask(room, first_by_s=5.0)[0]
    room.pace.place_s = 4.0  # the second would come after 8 s
    assert [ticket for ticket, _ in room.sweep(0.0)] == [second]
    assert room.admit(0.0) == []
    assert first.admitted_s is None


def test_those_behind_a_hopeless_one_are_judged_without_it() -> None:
    room, _ = full(1, place_s=1.0)
    hopeless, hopeful = ask(room, first_by_s=1.5)[0], ask(room, first_by_s=2.5)[0]
    assert [ticket for ticket, _ in room.sweep(1.0)] == [hopeless]
    assert room.sweep(1.4) == []
    assert [ticket for ticket, _ in room.sweep(1.6)] == [hopeful]


def test_a_place_that_comes_too_late_goes_to_the_next_one() -> None:
    room, (running,) = full(1)
    room.pace.began(1.0, 10.0)  # at most 2 s
    late, next_one = ask(room, first_by_s=11.0)[0], ask(room, first_by_s=13.0)[0]
    room.leave(running, 10.0)
    (refused, admitted) = room.admit(10.0)
    assert refused[0] is late
    assert refused[1] is not None
    assert admitted == (next_one, None)
    assert room.running == 1


def test_without_a_replica_requests_wait_as_long_as_they_may() -> None:
    room = room_of(0)
    early, later = ask(room, at_s=0.0)[0], ask(room, at_s=3.0)[0]
    assert room.sweep(9.9) == []
    ((refused, refusal),) = room.sweep(10.0)
    assert refused is early
    assert refusal is not None
    assert refusal.reason is Reason.NOT_READY
    room.see(Places(1), 11.0)
    assert room.admit(11.0) == [(later, None)]


def test_who_waited_for_a_place_has_its_time_from_when_the_last_replica_left() -> None:
    room, _ = full(1)
    ask(room, at_s=0.0)
    room.see(Places(0), 50.0)
    assert room.sweep(59.9) == []
    assert len(room.sweep(60.1)) == 1


def test_the_most_that_ran_is_kept_until_it_is_set_back() -> None:
    room, running = full(3)
    for ticket in running:
        room.leave(ticket, 1.0)
    assert (room.running, room.most_running) == (0, 3)
