"""Minutes of overload in no time: the waiting room in a simulation of replicas with few places.

Arrivals are Poisson, answers take exponential times: an M/M/c queue whose callers have deadlines.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count
from random import Random

import pytest

from turnout.gateway.overload.places import Places
from turnout.gateway.overload.room import Decided, Room, Ticket
from turnout.gateway.overload.urgency import Priority

PLACES, ANSWER_S, FIRST_S = 8, 0.4, 0.05
PER_S = PLACES / ANSWER_S
DEADLINE_S = 1.0
LASTS_S = 120.0


@dataclass
class Simulation:
    """Requests of several priorities at so many times what the replicas can answer."""

    load: float
    priorities: tuple[Priority, ...] = (Priority.NORMAL,)
    deadline_s: float = DEADLINE_S
    seed: int = 1
    room: Room = field(default_factory=Room)
    in_time: int = 0
    late: int = 0
    refused: int = 0
    most_waiting: int = 0
    waits_s: dict[Priority, list[float]] = field(default_factory=dict)

    def run(self) -> Simulation:
        chance, numbers = Random(self.seed), count()
        self.room.see(Places(PLACES), 0.0)
        events: list[tuple[float, int, Ticket | None]] = [(0.0, next(numbers), None)]
        while events:
            now_s, _, leaving = heapq.heappop(events)
            if leaving is not None:
                self.room.leave(leaving, now_s)
            elif now_s < LASTS_S:
                gap_s = chance.expovariate(self.load * PER_S)
                heapq.heappush(events, (now_s + gap_s, next(numbers), None))
                self.arrive(Ticket(chance.choice(self.priorities), now_s, now_s + self.deadline_s))
            for ticket in self.began(now_s):
                heapq.heappush(
                    events, (now_s + chance.expovariate(1 / ANSWER_S), next(numbers), ticket)
                )
        return self

    def arrive(self, ticket: Ticket) -> None:
        if self.room.runs_at_once(ticket, ticket.arrived_s):
            self.straight = ticket
            return
        self.note(self.room.enter(ticket, ticket.arrived_s, 1000))
        self.most_waiting = max(self.most_waiting, self.room.waiting)

    def began(self, now_s: float) -> list[Ticket]:
        begun = [] if self.straight is None else [self.straight]
        self.straight = None
        self.note(self.room.sweep(now_s))
        decided = self.room.admit(now_s)
        self.note(decided)
        begun += [ticket for ticket, refusal in decided if refusal is None]
        for ticket in begun:
            first_s = now_s + FIRST_S
            self.room.pace.began(FIRST_S, now_s)
            self.waits_s.setdefault(ticket.priority, []).append(first_s - ticket.arrived_s)
            self.in_time += first_s <= ticket.first_by_s
            self.late += first_s > ticket.first_by_s
        return begun

    def note(self, decided: list[Decided]) -> None:
        self.refused += sum(refusal is not None for _, refusal in decided)

    straight: Ticket | None = None


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]


@pytest.mark.parametrize("load", [1.5, 3.0, 10.0])
def test_under_overload_as_much_is_answered_in_time_as_there_are_places_for(load: float) -> None:
    """Erlang: c places of mean time S finish c / S a second at most."""
    simulated = Simulation(load).run()
    assert simulated.in_time > 0.9 * PER_S * LASTS_S
    assert simulated.late == 0


def test_at_three_times_the_load_goodput_is_at_least_nine_tenths_of_that_at_one() -> None:
    once, thrice = Simulation(1.0).run(), Simulation(3.0).run()
    assert thrice.in_time >= 0.9 * once.in_time


@pytest.mark.parametrize("load", [3.0, 10.0])
def test_no_more_wait_than_have_hope_however_many_come(load: float) -> None:
    """20 a second leave and a deadline is a second: some 20, and more until that is learned."""
    assert Simulation(load).run().most_waiting < 100


def test_below_the_load_that_can_be_served_nearly_nothing_is_refused() -> None:
    simulated = Simulation(0.7).run()
    assert simulated.refused < 0.01 * (simulated.refused + simulated.in_time)


def test_interactive_requests_wait_little_however_many_others_do() -> None:
    """A third of 1.5 times what can be answered is interactive: half of the places.

    Behind none but its own it waits S/c/(1 - 0.5) = 0.1 s in the mean (Cobham 1954), exponentially:
    0.3 s at the 95th percentile.
    """
    mix = (Priority.INTERACTIVE, Priority.NORMAL, Priority.BATCH)
    waits_s = Simulation(1.5, mix, deadline_s=10.0).run().waits_s
    interactive, normal = waits_s[Priority.INTERACTIVE], waits_s[Priority.NORMAL]
    assert percentile(interactive, 0.95) < 0.3 + FIRST_S + 0.1
    assert percentile(interactive, 0.95) < percentile(normal, 0.2)
