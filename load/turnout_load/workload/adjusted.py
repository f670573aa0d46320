"""What a run's options change about a dataset's conversations."""

from __future__ import annotations

from dataclasses import dataclass, replace

from turnout_load.workload.lengths import Amount, Length
from turnout_load.workload.mix import Mix
from turnout_load.workload.seeded import generator
from turnout_load.workload.work import Conversation, Dataset


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A dataset with other lengths of answers, waits between turns, and teams, where given."""

    dataset: Dataset
    seed: int
    output_tokens: Length | None
    think_time_s: Amount
    mix: Mix | None

    def conversation(self, index: int) -> Conversation:
        """Returns the dataset's conversation with the run's options."""
        conversation = self.dataset.conversation(index)
        if len(conversation.turns) == 1 and not self.output_tokens and not self.mix:
            return conversation  # the usual case, and a generator costs as much as a short text
        rng = generator(self.seed, "adjusted", index)
        turns = list(conversation.turns)
        for number, turn in enumerate(turns):
            tokens = self.output_tokens.draw(rng) if self.output_tokens else turn.max_tokens
            wait_s = self.think_time_s.draw(rng) if number else 0.0
            turns[number] = replace(turn, max_tokens=tokens, think_time_s=wait_s)
        conversation = replace(conversation, turns=tuple(turns))
        if not self.mix:
            return conversation
        group = self.mix.draw(rng)
        priority = conversation.priority if group.priority is None else group.priority
        return replace(conversation, team=group.team, priority=priority)
