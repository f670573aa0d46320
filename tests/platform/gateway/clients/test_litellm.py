"""LiteLLM as a client works against the gateway, by OpenAI's words and by Anthropic's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would download one when imported

if TYPE_CHECKING:
    from tests.platform.gateway.calling_engine import CallingEngine
    from tests.platform.gateway.system import System


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
async def test_answers_and_streams(system: System, large: CallingEngine, vendor: str) -> None:
    import litellm  # noqa: PLC0415 - after the variable above

    base = f"{system.url}/v1" if vendor == "openai" else system.url
    ask: dict[str, Any] = {
        "model": f"{vendor}/large",
        "messages": [{"role": "user", "content": "Hi"}],
        "api_base": base,
        "api_key": "sk-x",
        "max_tokens": 9,
        "num_retries": 0,
    }
    answer = await litellm.acompletion(**ask)
    assert answer.choices[0].message.content == "Grüße an 世界 🙂"
    assert answer.usage.total_tokens == 15
    chunks = [chunk async for chunk in await litellm.acompletion(**ask, stream=True)]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == "Grüße an 世界 🙂"
    assert len(large.generations) == 2
