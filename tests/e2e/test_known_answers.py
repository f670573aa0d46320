"""Greedy text through the gateway is transformers' own greedy text for the same weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnout.config.load import load
from turnout.models.fetch import cached_model

if TYPE_CHECKING:
    from tests.e2e.conftest import System

TOKENS = 32
PROMPTS = (
    "What is the capital of France?",
    "Write a haiku about the sea.",
    "Write a Python function that reverses a string.",
)


def reference(folder: str, prompts: tuple[str, ...]) -> list[str]:
    """Returns transformers' greedy answers to chat prompts, in float32."""
    import torch  # noqa: PLC0415 - seconds, and only here
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    answers = []
    for prompt in prompts:
        chat = [{"role": "user", "content": prompt}]
        inputs = tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        with torch.inference_mode():
            output = model.generate(**inputs, max_new_tokens=TOKENS, do_sample=False)
        told = output[0, inputs["input_ids"].shape[1] :]
        answers.append(tokenizer.decode(told, skip_special_tokens=True))
    return answers


@pytest.mark.parametrize("model", ["small", "large"])
def test_greedy_text_equals_transformers(system: System, client: Any, model: str) -> None:
    sources = {m.args.model: m.args.sources for m in load(system.config).models}[model]
    folder = cached_model(sources)
    assert folder is not None
    expected = reference(str(folder), PROMPTS)
    answers = [
        client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": prompt}],
            max_tokens=TOKENS,
            temperature=0,
        )
        .choices[0]
        .message.content
        for prompt in PROMPTS
    ]
    assert answers == expected
    assert all(len(answer) > 20 for answer in answers)
