"""Which replica gets a request, on what this gateway knows of all of them."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from turnout.config.upstream_settings import UPSTREAM
from turnout.gateway.balance.breaker import CLOSED, BreakerSettings, Circuit, Failure
from turnout.gateway.balance.choose import Affinity, Choice, Policy, choose
from turnout.gateway.balance.job import Job
from turnout.gateway.balance.prefix import CHARACTERS, PrefixIndex
from turnout.gateway.balance.state import REQUEST_TOKENS, ReplicaState, Speed
from turnout.gateway.balance.weights import Weights
from turnout.gateway.replicas import Replica

__all__ = ["Balancer", "Job"]
log = logging.getLogger(__name__)
MOST_SESSIONS = 65_536
FORGOTTEN_AFTER_S = 60.0
"""A replica that is out of the table for so long is another one if it comes back."""
SPEED_HOLDS_S = 30.0
"""What a replica that gets no requests was seen to do counts for so long."""
SWEEP_EVERY_S = 10.0


@dataclass(slots=True)
class _Sent:
    """One request on one replica."""

    job: Job
    at_s: float
    unread_tokens: int
    work_tokens: int
    """Prompt tokens to be read before its first token, its own included."""
    has_answered: bool = False
    first_s: float | None = None
    """When its first token came, of a stream."""


class Balancer:
    """Chooses replicas and keeps count of what runs on them, what they answered, what failed."""

    def __init__(
        self,
        policy: Policy = choose,
        weights: Weights | None = None,
        breaker: BreakerSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy, self._clock = policy, clock
        self._weights, self._breaker = weights or Weights(), breaker or BreakerSettings()
        self._states: dict[str, ReplicaState] = {}
        self._untried: dict[str, ReplicaState] = {}
        """Those that have answered nothing (lately): taken to be as fast as their kin are now."""
        self._sent: dict[str, dict[int, _Sent]] = {}
        self._prefixes = PrefixIndex()
        self._sessions: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._known: tuple[Job, Affinity] | None = None
        self._swept_s = clock()

    def choose(
        self,
        job: Job,
        replicas: Sequence[Replica],
        pools: Sequence[str],
        tried: Collection[str] = (),
    ) -> Replica | None:
        """Returns the replica for a job, none of `tried`; None when nothing is left."""
        choice = self.choice(job, replicas, pools, tried)
        if choice is None:
            return None
        log.debug("replica", extra={"replica": choice.replica.id, "because": choice.because})
        return choice.replica

    def choice(
        self,
        job: Job,
        replicas: Sequence[Replica],
        pools: Sequence[str],
        tried: Collection[str] = (),
    ) -> Choice | None:
        """Returns what `choose` does, with the reason.

        Draining replicas are left out. One whose breaker is open is taken only where all are (an
        upstream never), and one that runs as many as it can only where all do.
        """
        now_s = self._clock()
        left, closed, free = [], [], []
        for replica in replicas:
            if replica.is_draining or replica.id in tried or replica.market not in pools:
                continue
            state = self._state(replica, now_s)
            if state.breaker is CLOSED or state.breaker.lets_through(now_s):
                closed.append(state)
                if state.has_place:
                    free.append(state)
            elif replica.market == UPSTREAM:
                continue
            left.append(state)
        states = free or closed or left
        if now_s - self._swept_s > SWEEP_EVERY_S:
            self._sweep(now_s)
        if len(states) < 2:
            self._known = None
            return Choice(states[0].replica, "the only one left") if states else None
        affinity = Affinity(self._prefixes.matched(job.blocks), self._home(job))
        self._known = job, affinity
        return self._policy(job, states, pools, affinity, self._weights)

    def begin(self, replica: Replica, job: Job) -> None:
        """Counts a request sent."""
        now_s = self._clock()
        state = self._state(replica, now_s)
        unread = max(0, job.input_tokens - self._cached(replica, job)) + REQUEST_TOKENS
        sent = _Sent(job, now_s, unread, state.unread_tokens + state.others_unread + unread)
        self._sent.setdefault(replica.id, {})[id(job)] = sent
        state.requests += 1
        state.unread_tokens += unread
        state.breaker = state.breaker.sent(now_s)

    def answered(self, replica: Replica, ttft_s: float | None, job: Job | None = None) -> None:
        """Learns that a replica began to answer, and how soon; None of an answer in one piece.

        Without the job it is taken to be the one that waits longest there.
        """
        state, sent = self._states.get(replica.id), self._waiting(replica, job)
        if state is None or sent is None:
            return
        sent.has_answered = True
        state.unread_tokens -= sent.unread_tokens
        state.breaker = state.breaker.answered(sent.at_s)
        if ttft_s is not None:
            sent.first_s = self._clock()
            state.speed.ttft.learn(sent.work_tokens, ttft_s)
            self._learned(state)

    def end(self, replica: Replica, job: Job, output_tokens: int = 0) -> None:
        """Counts a request answered or broken off; `output_tokens` is 0 where nobody counted."""
        on_replica = self._sent.get(replica.id, {})
        sent, state = on_replica.pop(id(job), None), self._states.get(replica.id)
        if not on_replica:
            self._sent.pop(replica.id, None)
        if sent is None or state is None:
            return
        if not sent.has_answered:
            state.unread_tokens -= sent.unread_tokens
            state.breaker = state.breaker.gave_up()
        elif sent.first_s is not None and output_tokens > 1:
            took_s = self._clock() - sent.first_s
            state.speed.itl.learn(state.load, took_s / (output_tokens - 1))
            self._learned(state)
        state.requests -= 1

    def failed(
        self, replica: Replica, failure: Failure = "dead", told_s: float | None = None
    ) -> None:
        """Learns that a replica could not be reached or broke off, or (`error`) answered 5xx.

        `told_s` is the pause that it asked for, where it did.
        """
        state = self._states.get(replica.id)
        if state is None:
            return
        before, now_s = state.breaker, self._clock()
        state.breaker = before.failed(failure, now_s, self._breaker, told_s)
        if state.breaker.circuit is Circuit.OPEN and before.circuit is not Circuit.OPEN:
            pause_s = state.breaker.pause_s
            log.warning("breaker_open", extra={"replica": replica.id, "pause_s": pause_s})

    @property
    def running(self) -> int:
        """Requests running on all replicas."""
        return sum(map(len, self._sent.values()))

    def has_place(self, replica: Replica) -> bool:
        """Tells whether a replica can run one more request at once."""
        state = self._states.get(replica.id)
        return state is None or state.has_place

    def opens_in_s(self, replicas: Sequence[Replica]) -> float:
        """Returns how long all of these replicas' breakers stay open; 0 where one is not."""
        now_s = self._clock()
        states = [self._states.get(replica.id) for replica in replicas]
        waits_s = [state.breaker.opens_in_s(now_s) if state else 0.0 for state in states]
        return min(waits_s, default=0.0)

    def state(self, replica_id: str) -> ReplicaState | None:
        """Returns what is known of a replica, for metrics and tests."""
        return self._states.get(replica_id)

    def _state(self, replica: Replica, now_s: float) -> ReplicaState:
        state = self._states.get(replica.id)
        if state is None:
            state = ReplicaState(replica, self._speed_of_its_kind(replica))
            self._states[replica.id] = self._untried[replica.id] = state
        elif replica is not state.replica:
            state.told(replica)
        state.seen_s = now_s
        return state

    def _learned(self, state: ReplicaState) -> None:
        """Takes in that a replica's speed was seen, also for those that nobody has tried.

        Else one that was thought slow, or was so for a while, would never get a request to show
        what it can.
        """
        state.note_speed()
        state.learned_s = self._clock()
        self._untried.pop(state.replica.id, None)
        for other in self._untried.values():
            if other.replica.model == state.replica.model:
                other.speed = state.speed.like()
                other.note_speed()

    def _speed_of_its_kind(self, replica: Replica) -> Speed:
        """Returns the speed of the model's replica that was heard of last, else a guess."""
        kin = [
            each
            for each in self._states.values()
            if each.replica.model == replica.model and each.speed.ttft.has_points
        ]
        return max(kin, key=lambda each: each.seen_s).speed.like() if kin else Speed()

    def _sweep(self, now_s: float) -> None:
        """Forgets replicas that have left the table, and how fast the idle ones once were."""
        self._swept_s = now_s
        for name, state in self._states.items():
            if not state.requests and now_s - state.learned_s > SPEED_HOLDS_S:
                self._untried[name] = state
        gone = {
            name
            for name, state in self._states.items()
            if not state.requests and now_s - state.seen_s > FORGOTTEN_AFTER_S
        }
        for name in gone:
            del self._states[name]
            self._untried.pop(name, None)

    def _home(self, job: Job) -> str:
        return self._sessions.get((job.salt, job.session), "") if job.session else ""

    def _cached(self, replica: Replica, job: Job) -> int:
        """Returns how much of the prompt a replica should have, and notes that it has all now."""
        if self._known is None or self._known[0] is not job:
            return 0
        blocks = self._known[1].blocks.get(replica.id, 0)
        self._prefixes.saw(job.blocks, replica.id)
        if job.session:
            self._sessions[job.salt, job.session] = replica.id
            self._sessions.move_to_end((job.salt, job.session))
            if len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        characters = CHARACTERS[blocks]
        return job.input_tokens * characters // len(job.prompt) if characters else 0

    def _waiting(self, replica: Replica, job: Job | None) -> _Sent | None:
        on_replica = self._sent.get(replica.id, {})
        if job is not None:
            sent = on_replica.get(id(job))
            return sent if sent is not None and not sent.has_answered else None
        return next((sent for sent in on_replica.values() if not sent.has_answered), None)
