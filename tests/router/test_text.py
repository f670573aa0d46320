import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout_router.text import MAX_BYTES, Body, bounded, needed_capabilities, prompt_text

SCALAR = st.sampled_from([None, True, 0, 1.5, "", "text", "image_url"])
PART = SCALAR | st.dictionaries(st.sampled_from(["type", "text", "role", "content"]), SCALAR)
MESSAGE = PART | st.fixed_dictionaries({"role": st.just("user"), "content": st.lists(PART)})
FIELDS = ["messages", "prompt", "tools", "tool_choice", "response_format", "logprobs"]
BODY = st.dictionaries(st.sampled_from(FIELDS), PART | st.lists(MESSAGE, max_size=3))


def test_a_chat_is_judged_by_its_last_user_message() -> None:
    body = {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": "answer"},
            {"role": "user", "content": "second"},
            {"role": "assistant", "content": "call", "tool_calls": []},
        ]
    }
    assert prompt_text(body) == "second"


def test_text_parts_of_a_message_are_joined_and_images_passed_over() -> None:
    parts = [
        {"type": "text", "text": "What is"},
        {"type": "image_url", "image_url": {"url": "data:,"}},
        {"type": "text", "text": "this?"},
    ]
    assert prompt_text({"messages": [{"role": "user", "content": parts}]}) == "What is\nthis?"


@pytest.mark.parametrize(
    ("prompt", "text"),
    [("Once upon", "Once upon"), (["a", "b"], "a\nb"), ([1, 2, 3], ""), (None, "")],
)
def test_a_completion_is_judged_by_its_prompt_string(prompt: object, text: str) -> None:
    assert prompt_text({"prompt": prompt}) == text


def test_a_long_text_keeps_its_two_ends() -> None:
    text = bounded("begin" + "x" * 1_000_000 + "end?")
    assert len(text) == MAX_BYTES
    assert text.startswith("begin")
    assert text.endswith("end?")


@given(st.text(st.characters(codec=None, categories=["Cs", "L", "So", "Cc"]), max_size=3000))
def test_any_text_becomes_valid_utf8_within_the_bound(text: str) -> None:
    assert len(bounded(text).encode()) <= MAX_BYTES


@pytest.mark.parametrize("character", ["é", "你", "😀"])
def test_long_text_in_another_script_is_cut_between_characters(character: str) -> None:
    assert set(bounded(character * 5000)) == {character}


@pytest.mark.parametrize(
    ("body", "needed"),
    [
        ({}, set()),
        ({"tools": [{"type": "function"}]}, {"tools"}),
        ({"tools": [{"type": "function"}], "tool_choice": "none"}, set()),
        ({"tools": []}, set()),
        ({"response_format": {"type": "json_schema"}}, {"json_schema"}),
        ({"response_format": {"type": "json_object"}}, {"json_schema"}),
        ({"response_format": {"type": "text"}}, set()),
        ({"logprobs": True}, {"logprobs"}),
        ({"logprobs": False}, set()),
        ({"prompt": "x", "logprobs": 0}, {"logprobs"}),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            {"vision"},
        ),
    ],
)
def test_needed_capabilities_follow_the_openai_fields(body: Body, needed: set[str]) -> None:
    assert needed_capabilities(body) == needed


@given(BODY)
def test_a_body_of_any_shape_gets_a_text_and_capabilities(body: Body) -> None:
    assert isinstance(prompt_text(body), str)
    assert needed_capabilities(body) <= {"tools", "json_schema", "logprobs", "vision"}
