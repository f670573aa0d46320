from __future__ import annotations

from dataclasses import replace

from turnout_load.workload.lengths import length
from turnout_load.workload.synthetic import Synthetic
from turnout_load.workload.text import Prose

SINGLE = Synthetic(
    1,
    Prose(),
    input_tokens=length("", "uniform:low=20,high=60"),
    output_tokens=length("", "fixed:8"),
    turns=length("", "fixed:1"),
)


def text(dataset: Synthetic, index: int, turn: int = 0) -> str:
    found: str = dataset.conversation(index).turns[turn].messages[-1]["content"]
    return found


def test_a_prompt_is_as_long_as_was_asked() -> None:
    for index in range(100):
        (turn,) = SINGLE.conversation(index).turns
        assert 20 <= len(turn.messages[0]["content"].split(" ")) <= 60
        assert turn.max_tokens == 8


def test_a_number_is_the_same_conversation_whichever_were_made_before() -> None:
    alone = SINGLE.conversation(41)
    for index in range(41):
        SINGLE.conversation(index)
    assert SINGLE.conversation(41) == alone


def test_no_two_prompts_begin_alike() -> None:
    assert len({text(SINGLE, index)[:60] for index in range(2_000)}) == 2_000


def test_another_seed_makes_other_prompts() -> None:
    assert text(SINGLE, 0) != text(replace(SINGLE, seed=2), 0)


def test_all_begin_with_the_shared_prefix_and_only_once() -> None:
    dataset = replace(SINGLE, prefix="be brief", turns=length("", "fixed:2"))
    for index in range(3):
        first, second = dataset.conversation(index).turns
        system, asked = first.messages
        assert system == {"role": "system", "content": "be brief"}
        assert 20 <= len(asked["content"].split(" ")) <= 60
        assert [message["role"] for message in second.messages] == ["user"]


def test_turns_hold_new_text_and_recorded_replies_of_the_wanted_length() -> None:
    dataset = replace(SINGLE, turns=length("", "fixed:3"))
    turns = dataset.conversation(0).turns
    assert len({text(dataset, 0, number) for number in range(3)}) == 3
    assert [len((turn.reply or "").split()) for turn in turns] == [8, 8, 0]
