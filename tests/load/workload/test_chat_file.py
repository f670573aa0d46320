from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from turnout_load.errors import BadData
from turnout_load.workload import chat_file
from turnout_load.workload.work import Conversation, Turn

ASK = {"role": "user", "content": "Why is the sky blue?"}
REPLY = {"role": "assistant", "content": "Because of scattering."}
MORE = {"role": "user", "content": "And at sunset?"}
SYSTEM = {"role": "system", "content": "Be brief."}


def chat(*messages: Any, **fields: Any) -> str:
    return json.dumps({"messages": messages, **fields})


def sharegpt(*said: tuple[str, str]) -> str:
    parts = [{"from": speaker, "value": value} for speaker, value in said]
    return json.dumps({"id": "x_0", "conversations": parts})


def test_an_assistants_message_is_the_recorded_reply_of_its_turn(write: Callable[..., str]) -> None:
    path = write("chats.jsonl", chat(SYSTEM, ASK, REPLY, MORE, max_tokens=32))
    assert chat_file.read(path).dataset.conversation(0).turns == (
        Turn((SYSTEM, ASK), max_tokens=32, reply="Because of scattering."),
        Turn((MORE,), max_tokens=32),
    )


def test_a_line_tells_team_priority_and_more_of_the_body(write: Callable[..., str]) -> None:
    path = write("chats.jsonl", chat(ASK, team="search", priority=-2, temperature=0, source="web"))
    assert chat_file.read(path).dataset.conversation(0) == Conversation(
        (Turn((ASK,)),), "search", -2, {"temperature": 0}
    )


def test_a_trailing_reply_asks_for_nothing_more(write: Callable[..., str]) -> None:
    dataset = chat_file.read(write("chats.jsonl", chat(ASK, REPLY))).dataset
    assert dataset.conversation(0).turns == (Turn((ASK,), reply="Because of scattering."),)


def test_a_tool_call_stays_among_the_messages_of_its_turn(write: Callable[..., str]) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    result = {"role": "tool", "content": "4", "tool_call_id": "1"}
    path = write("chats.jsonl", chat(ASK, call, result, REPLY))
    (turn,) = chat_file.read(path).dataset.conversation(0).turns
    assert turn == Turn((ASK, call, result), reply="Because of scattering.")


def test_a_greeting_stays_before_the_first_question(write: Callable[..., str]) -> None:
    path = write("chats.jsonl", chat(SYSTEM, REPLY, ASK))
    (turn,) = chat_file.read(path).dataset.conversation(0).turns
    assert turn == Turn((SYSTEM, REPLY, ASK))


@pytest.mark.parametrize("form", ["{}", "[{}]", "[\n{}\n]\n"])
def test_sharegpt_is_read_as_lines_and_as_an_array(write: Callable[..., str], form: str) -> None:
    said = sharegpt(("system", "Be brief."), ("human", "Hello"), ("gpt", "Hi"), ("human", "Bye"))
    source = chat_file.read(write("sharegpt.json", form.replace("{}", said)))
    assert source.size == 1
    assert source.dataset.conversation(0).turns == (
        Turn((SYSTEM, {"role": "user", "content": "Hello"}), reply="Hi"),
        Turn(({"role": "user", "content": "Bye"},)),
    )


def test_numbers_past_the_end_start_over(write: Callable[..., str]) -> None:
    dataset = chat_file.read(write("chats.jsonl", chat(ASK), chat(MORE))).dataset
    asked = [dataset.conversation(i).turns[0].messages[0]["content"] for i in range(5)]
    assert asked == [ASK["content"], MORE["content"]] * 2 + [ASK["content"]]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"messages": [', "Input data was truncated"),
        ("[1]", "Expected `object`, got `array`"),
        ("{}", "it has no messages"),
        (chat({"content": "?"}), "message 0 has no role"),
        (chat({"role": "user"}), "message 0 has no content"),
        (chat({"role": "user", "content": ["Hello"]}), "message 0 has a part that is no object"),
        (chat(SYSTEM), "none of its messages asks for an answer"),
        (chat(ASK, max_tokens=0), "Expected `int` >= 1 - at `$.max_tokens`"),
        (chat(ASK, priority="high"), "Expected `int | null`, got `str` - at `$.priority`"),
        (sharegpt(("alien", "Hello")), "from 'alien': expected system, human"),
        (sharegpt(), "it has no messages"),
    ],
)
def test_a_broken_line_is_named_and_the_others_are_used(
    write: Callable[..., str], line: str, problem: str
) -> None:
    path = write("chats.jsonl", chat(ASK), "", line, chat(MORE))
    source = chat_file.read(path)
    assert source.size == 2
    assert source.dataset.conversation(1).turns[0].messages == (MORE,)
    assert [str(named).startswith(f"{path}:3: {problem}") for named in source.problems] == [True]
    assert source.notes == (f"{path}: 1 line could not be used: left out",)


def test_bytes_that_are_no_text_are_a_broken_line(tmp_path: Any) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_bytes(b'{"messages": "\xff"}\n' + chat(ASK).encode())
    source = chat_file.read(str(path))
    assert str(source.problems[0]) == f"{path}:1: Invalid UTF-8 encoded string"


def test_a_broken_entry_of_an_array_is_named(write: Callable[..., str]) -> None:
    entries = ",\n".join([sharegpt(("human", "Hi")), sharegpt(("gpt", "Hi"))])
    path = write("sharegpt.json", f"[{entries}]")
    source = chat_file.read(path)
    assert source.size == 1
    assert [str(named) for named in source.problems] == [
        f"{path}: entry 2: none of its messages asks for an answer"
    ]


def test_a_broken_array_is_refused_with_its_line(write: Callable[..., str]) -> None:
    path = write("sharegpt.json", "[", sharegpt(("human", "Hi")), sharegpt(("human", "Hi")), "]")
    with pytest.raises(BadData, match=r"sharegpt.json:3: no JSON array of conversations"):
        chat_file.read(path)


def test_a_file_without_any_usable_line_is_refused(write: Callable[..., str]) -> None:
    with pytest.raises(BadData, match=r"chats.jsonl:1: it has no messages \(and 1 more"):
        chat_file.read(write("chats.jsonl", "{}", "{}"))
