"""What a job says of its prompt."""

from __future__ import annotations

from typing import Any

from turnout.gateway.balance.job import Job, beginning


def chat(*contents: Any, **fields: Any) -> dict[str, Any]:
    messages = [
        {"role": "user" if number % 2 else "system", "content": content}
        for number, content in enumerate(contents)
    ]
    return {"model": "m", "messages": messages, **fields}


def test_a_conversations_next_turn_begins_with_all_of_the_one_before() -> None:
    first = beginning(chat("be brief", "hello"))
    assert beginning(chat("be brief", "hello", "hi", "and now?")).startswith(first)


def test_what_follows_a_message_cannot_pass_for_a_part_of_it() -> None:
    assert beginning(chat("ab", "c")) != beginning(chat("a", "bc"))


def test_tools_come_before_the_messages_as_templates_have_them() -> None:
    tools = [{"type": "function", "function": {"name": "lookup"}}]
    said = beginning(chat("be brief", tools=tools))
    assert said.index("lookup") < said.index("be brief")


def test_parts_of_a_message_and_its_calls_of_tools_count() -> None:
    parts = [{"type": "image_url", "image_url": {"url": "data:a"}}]
    other = [{"type": "image_url", "image_url": {"url": "data:b"}}]
    assert beginning(chat(parts)) != beginning(chat(other))
    body = {"messages": [{"role": "assistant", "content": None, "tool_calls": [{"id": "7"}]}]}
    assert '"7"' in beginning(body)


def test_token_ids_have_a_beginning_too() -> None:
    longer = beginning({"prompt": [1, 2, 30, 4]})
    assert longer.startswith(beginning({"prompt": [1, 2, 30]}))
    assert beginning({"prompt": "as it is"}) == "as it is"
    assert beginning({}) == ""


def test_a_prompt_that_nobody_counted_is_estimated_by_four_characters_a_token() -> None:
    assert Job("x" * 400).input_tokens == 100
    assert Job("x" * 400, prompt_tokens=70).input_tokens == 70
