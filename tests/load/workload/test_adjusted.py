from __future__ import annotations

from dataclasses import dataclass, replace

from turnout_load.workload.adjusted import Adjusted
from turnout_load.workload.lengths import amount, length
from turnout_load.workload.mix import mix
from turnout_load.workload.work import Conversation, Turn

TURN = Turn(({"role": "user", "content": "Hello"},), max_tokens=10, reply="Hi")
THREE_TURNS = Conversation((TURN, TURN, TURN), "search", 4, {"temperature": 0})


@dataclass(frozen=True)
class Always:
    """A dataset that holds one conversation again and again."""

    found: Conversation

    def conversation(self, index: int) -> Conversation:
        return self.found


PLAIN = Adjusted(Always(THREE_TURNS), 1, None, amount("", "fixed:0"), None)


def test_without_options_a_conversation_is_left_as_it_is() -> None:
    assert PLAIN.conversation(0) == THREE_TURNS


def test_output_tokens_take_the_place_of_the_datasets() -> None:
    adjusted = replace(PLAIN, output_tokens=length("", "uniform:low=50,high=90"))
    found = [turn.max_tokens for turn in adjusted.conversation(0).turns]
    assert all(50 <= (tokens or 0) <= 90 for tokens in found)
    assert len(set(found)) > 1


def test_output_tokens_are_given_to_a_single_request_too() -> None:
    single = Always(Conversation((TURN,)))
    adjusted = replace(PLAIN, dataset=single, output_tokens=length("", "fixed:7"))
    assert [turn.max_tokens for turn in adjusted.conversation(0).turns] == [7]


def test_a_user_thinks_before_every_turn_but_the_first() -> None:
    adjusted = replace(PLAIN, think_time_s=amount("", "uniform:low=1,high=2"))
    first, second, third = (turn.think_time_s for turn in adjusted.conversation(0).turns)
    assert first == 0
    assert 1 <= second <= 2
    assert 1 <= third <= 2
    assert second != third


def test_a_mix_names_team_and_priority_by_share() -> None:
    adjusted = replace(PLAIN, mix=mix("batch@5=1,chat=1"))
    found = {(found.team, found.priority) for found in map(adjusted.conversation, range(50))}
    # A group without a priority leaves the dataset's own.
    assert found == {("batch", 5), ("chat", 4)}


def test_the_seed_and_number_decide_alone() -> None:
    adjusted = replace(PLAIN, mix=mix("a=1,b=1"), output_tokens=length("", "uniform:low=1,high=99"))
    alone = adjusted.conversation(7)
    others = [adjusted.conversation(index) for index in range(7)]
    assert adjusted.conversation(7) == alone
    assert replace(adjusted, seed=2).conversation(7) != alone
    assert alone not in others
