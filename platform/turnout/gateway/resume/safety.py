"""Which requests can go on elsewhere when their stream breaks off, and why others cannot. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnout.gateway.request import GenerationRequest

SAMPLING = frozenset(
    (
        *("temperature", "top_p", "top_k", "min_p", "seed", "logit_bias", "ignore_eos"),
        *("frequency_penalty", "presence_penalty", "repetition_penalty", "min_tokens"),
        *("stop_token_ids", "allowed_token_ids", "skip_special_tokens"),
        *("spaces_between_special_tokens", "cache_salt", "priority", "user"),
    )
)
"""Fields that hold for the rest of an answer as they did for its beginning.

Two of them start anew at the seam, where what was said has become prompt: frequency and presence
penalties no longer count it, and a seed is moved on (`ask.continued`). The answer is one that the
model could have given; it need not be the one that the unbroken run gave.
"""
_PROMPT = frozenset(
    (
        *("messages", "prompt", "chat_template", "chat_template_kwargs", "documents"),
        *("add_generation_prompt", "continue_final_message", "add_special_tokens"),
        *("truncate_prompt_tokens", "mm_processor_kwargs"),
    )
)
"""What has become the prompt's token ids already."""
_HANDLED = frozenset(
    (
        *("model", "stream", "stream_options", "max_tokens", "max_completion_tokens"),
        *("stop", "include_stop_str_in_output", "return_token_ids", "n", "best_of"),
    )
)
_NO_EFFECT = frozenset(
    (
        *("metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"),
        *("request_id", "verbosity", "web_search_options", "parallel_tool_calls"),
    )
)
_HARMLESS = SAMPLING | _PROMPT | _HANDLED | _NO_EFFECT
_NEUTRAL: Mapping[str, Sequence[Any]] = {
    "tool_choice": ("none",),
    "function_call": ("none",),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
}
"""Values that ask for nothing special of fields that otherwise cannot be resumed."""


def stops_of(request: GenerationRequest) -> list[str]:
    """Returns a request's stop strings."""
    stop = request.fields.get("stop")
    return [each for each in ([stop] if isinstance(stop, str) else stop or ()) if each]


def keeps_stop(request: GenerationRequest) -> bool:
    """Tells whether the stop string is to be part of the answer."""
    return bool(request.fields.get("include_stop_str_in_output"))


def why_not(request: GenerationRequest) -> str | None:
    """Returns why a request's answer cannot go on elsewhere; None where it can.

    Several answers at once, log probabilities and an echoed prompt would have to be joined inside
    one another; tool calls and structured outputs are made by a grammar or parsed by a state that
    is lost with the replica; and what the gateway does not know it does not repeat.
    """
    return _why_not_one(request.fields) or _why_not_alike(request)


def _why_not_one(fields: Mapping[str, Any]) -> str | None:
    """Tells what makes more than one text of a request's answer."""
    for name in ("n", "best_of"):
        if (fields.get(name) or 1) > 1:
            return f"'{name}' is above 1"
    prompt = fields.get("prompt")
    if isinstance(prompt, list) and len(prompt) > 1 and not isinstance(prompt[0], int):
        return "there are several prompts"
    return None


def _why_not_alike(request: GenerationRequest) -> str | None:
    """Tells what keeps the rest of an answer from being generated as its beginning was."""
    fields = request.fields
    if stops_of(request) and fields.get("min_tokens"):
        return "'min_tokens' together with 'stop'"
    if (fields.get("stream_options") or {}).get("continuous_usage_stats"):
        return "usage is asked for in every chunk"
    if any(_has_more_than_text(message) for message in fields.get("messages") or ()):
        return "its prompt is more than text, which token ids do not hold"
    for name, value in fields.items():
        if name not in _HARMLESS and value and value not in _NEUTRAL.get(name, ()):
            return f"it has '{name}'"
    return None


def _has_more_than_text(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") != "text" for part in content)
