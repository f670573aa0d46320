"""Conversations of synthetic text: each made from the seed and its number alone."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from turnout_load.workload.lengths import Length
from turnout_load.workload.seeded import generator
from turnout_load.workload.text import Prose
from turnout_load.workload.work import Conversation, Message, Turn


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Conversations without end, of the wanted lengths and turns."""

    seed: int
    prose: Prose
    input_tokens: Length
    output_tokens: Length
    turns: Length
    prefix: str = ""
    """The system prompt that all begin with, before their `input_tokens`."""

    def conversation(self, index: int) -> Conversation:
        """Returns the conversation with this number."""
        rng = generator(self.seed, "synthetic", index)
        last = self.turns.draw(rng) - 1
        return Conversation(tuple(self._turn(rng, number, last) for number in range(last + 1)))

    def _turn(self, rng: Random, number: int, last: int) -> Turn:
        tokens, max_tokens = self.input_tokens.draw(rng), self.output_tokens.draw(rng)
        asked = {"role": "user", "content": self.prose.text(rng, tokens)}
        return Turn(
            messages=(asked,) if number else (*self._system(), asked),
            max_tokens=max_tokens,
            # Later turns' bytes are the same in every run, whatever the server answers.
            reply=self.prose.text(rng, max_tokens) if number < last else None,
        )

    def _system(self) -> tuple[Message, ...]:
        return ({"role": "system", "content": self.prefix},) if self.prefix else ()
