"""What a gateway knows of one replica at the moment; `choose` only reads it."""

from dataclasses import dataclass, field

from turnout.gateway.balance.breaker import CLOSED, Breaker
from turnout.gateway.balance.line import Line
from turnout.gateway.balance.rendezvous import key_of
from turnout.gateway.replicas import EngineLoad, Replica

REQUEST_TOKENS = 64
"""What a request costs beside its prompt's tokens: templates, scheduling, the network."""
TYPICAL_INPUT_TOKENS = 512
TYPICAL_ANSWER_TOKENS = 128
TYPICAL_RUNNING = 8
# Where nothing is known of any replica: a mid-size model on one GPU, slower with every request.
FIRST_TTFT_S, FIRST_TTFT_S_PER_TOKEN = 0.05, 0.0002
FIRST_ITL_S, FIRST_ITL_S_PER_REQUEST = 0.02, 0.002


@dataclass(slots=True)
class Speed:
    """How fast a replica has been lately: replicas of one model need not be equal."""

    ttft: Line = field(
        default_factory=lambda: Line(FIRST_TTFT_S, FIRST_TTFT_S_PER_TOKEN, TYPICAL_INPUT_TOKENS)
    )
    """Seconds to the first token, by the tokens of prompt that are to be read before it."""
    itl: Line = field(
        default_factory=lambda: Line(FIRST_ITL_S, FIRST_ITL_S_PER_REQUEST, TYPICAL_RUNNING)
    )
    """Seconds for each further token, by the requests running together."""

    def like(self) -> "Speed":
        """Returns what to expect of a replica like this one before it has answered anything."""
        return Speed(
            Line(*self.ttft.terms, TYPICAL_INPUT_TOKENS), Line(*self.itl.terms, TYPICAL_RUNNING)
        )


@dataclass(slots=True)
class ReplicaState:
    """One replica: what its engine told last, and what this gateway has sent since."""

    replica: Replica
    speed: Speed = field(default_factory=Speed)
    breaker: Breaker = CLOSED
    requests: int = 0
    """Of this gateway, running or waiting there."""
    unread_tokens: int = 0
    """Prompt tokens of those whose answer has not begun, without what is cached."""
    others: int = 0
    """Requests of other gateways, running or waiting, as far as its engine has told."""
    others_unread: int = 0
    """Prompt tokens of those that wait, as far as one can guess."""
    kv_usage: float = 0.0
    key: int = 0
    """`key_of` its id, for rendezvous hashing."""
    per_s: float = 0.0
    """Typical requests that it finishes a second when it has one at a time."""
    ttft: tuple[float, float] = (0.0, 0.0)
    """The speed's line, as numbers: `choose` reads them for every replica and request."""
    itl: tuple[float, float] = (0.0, 0.0)
    seen_s: float = 0.0
    """When it was last in the table."""
    learned_s: float = 0.0
    """When this gateway last saw its speed."""
    _load: EngineLoad | None = None

    def __post_init__(self) -> None:
        self.key = key_of(self.replica.id)
        self.note_speed()
        self.told(self.replica)

    def note_speed(self) -> None:
        """Brings up to date what is derived from the speed."""
        self.ttft, self.itl = self.speed.ttft.terms, self.speed.itl.terms
        alone_s = self.finish_s(TYPICAL_INPUT_TOKENS + REQUEST_TOKENS, TYPICAL_ANSWER_TOKENS, 1)
        self.per_s = 1 / max(alone_s, 1e-6)

    def finish_s(self, unread_tokens: float, answer_tokens: float, running: float) -> float:
        """Returns the expected time from sending a request to its last token.

        `unread_tokens` are those of prompts to be read before its first token, its own included.
        """
        ttft, itl = self.ttft, self.itl
        return ttft[0] + ttft[1] * unread_tokens + answer_tokens * (itl[0] + itl[1] * running)

    def told(self, replica: Replica) -> None:
        """Takes in what the table says of the replica now.

        What an engine has beyond our own requests of the moment is other gateways'; from here on
        our own count tells what comes and goes.
        """
        self.replica = replica
        load = replica.load
        if load is None or load == self._load:
            return
        self._load = load
        self.kv_usage = load.kv_usage
        self.others = max(0, load.waiting + load.running - self.requests)
        waiting = min(load.waiting, self.others)
        self.others_unread = waiting * (TYPICAL_INPUT_TOKENS + REQUEST_TOKENS)
        self._learn_from(load)

    def _learn_from(self, load: EngineLoad) -> None:
        """Learns an engine's own times where this gateway has none of its own on it."""
        if load.itl_s is not None:
            self.speed.itl.learn(load.running, load.itl_s)
        if load.ttft_s is not None and not self.requests:
            ahead = (load.waiting + 1) * (TYPICAL_INPUT_TOKENS + REQUEST_TOKENS)
            self.speed.ttft.learn(ahead, load.ttft_s)
        self.note_speed()

    @property
    def has_place(self) -> bool:
        """Whether it runs fewer requests than it can, as far as is known."""
        most = self.replica.max_running
        return most is None or self.requests + self.others < most

    @property
    def load(self) -> int:
        """Requests running or waiting there, of every gateway."""
        return self.requests + self.others
