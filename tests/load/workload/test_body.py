from __future__ import annotations

import json

from turnout_load.spec import Target
from turnout_load.workload.body import body, encode
from turnout_load.workload.work import Conversation, Turn

CHAT = Target(url="http://127.0.0.1/v1", model="small")
COMPLETIONS = Target(url=CHAT.url, model="small", endpoint="completions", stream=False)
ASK = {"role": "user", "content": "Hello"}
HISTORY = ({"role": "system", "content": "Be brief."},)


def test_a_streamed_chat_asks_for_its_usage() -> None:
    turn = Turn((ASK,))
    assert body(CHAT, Conversation((turn,)), HISTORY, turn, False) == {
        "model": "small",
        "messages": [*HISTORY, ASK],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_completion_has_the_text_of_its_messages_as_the_prompt() -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": "Hel"}, {"text": "lo"}]}
    turn = Turn((parts,), max_tokens=9)
    assert body(COMPLETIONS, Conversation((turn,)), HISTORY, turn, False) == {
        "model": "small",
        "prompt": "Be brief.\nHello",
        "stream": False,
        "max_tokens": 9,
    }


def test_team_priority_and_more_fields_are_sent() -> None:
    turn = Turn((ASK,))
    made = body(CHAT, Conversation((turn,), "search", 0, {"top_p": 0.5}), (), turn, False)
    assert (made["user"], made["priority"], made["top_p"]) == ("search", 0, 0.5)


def test_an_exact_length_ignores_the_models_own_end() -> None:
    turn = Turn((ASK,), max_tokens=64)
    made = body(CHAT, Conversation((turn,)), (), turn, True)
    assert (made["max_tokens"], made["min_tokens"], made["ignore_eos"]) == (64, 64, True)


def test_without_a_length_nothing_can_be_exact() -> None:
    turn = Turn((ASK,))
    made = body(CHAT, Conversation((turn,)), (), turn, True)
    assert made.keys() == {"model", "messages", "stream", "stream_options"}


def test_a_body_is_sent_as_json() -> None:
    assert json.loads(encode({"prompt": "blaß\n", "stop": None})) == {
        "prompt": "blaß\n",
        "stop": None,
    }
