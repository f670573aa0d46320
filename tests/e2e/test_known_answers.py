"""Greedy text through the gateway is transformers' own greedy text for the same weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


REFERENCE = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, prompts, tokens = json.load(sys.stdin)
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
answers = []
for prompt in prompts:
    inputs = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}],
        add_generation_prompt=True, return_tensors="pt", return_dict=True,
    )
    with torch.inference_mode():
        output = model.generate(**inputs, max_new_tokens=tokens, do_sample=False)
    told = output[0, inputs["input_ids"].shape[1] :]
    answers.append(tokenizer.decode(told, skip_special_tokens=True))
print("ANSWERS" + json.dumps(answers))
"""


def reference(folder: str) -> list[str]:
    """Returns transformers' greedy answers in float32, in a process that gives memory back."""
    done = subprocess.run(
        [sys.executable, "-c", REFERENCE],
        input=json.dumps([folder, PROMPTS, TOKENS]),
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        check=True,
        timeout=500,
    )
    answers: list[str] = json.loads(done.stdout.split("ANSWERS")[1])
    return answers


@pytest.mark.parametrize("model", ["small", "large"])
def test_greedy_text_equals_transformers(system: System, client: Any, model: str) -> None:
    sources = {m.args.model: m.args.sources for m in load(system.config).models}[model]
    folder = cached_model(sources)
    assert folder is not None
    expected = reference(str(folder))
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
