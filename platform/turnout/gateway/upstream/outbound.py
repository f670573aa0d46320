"""What of a request goes to an upstream: OpenAI's fields, and those the operator lists. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from turnout.config.settings import GATEWAY_FIELDS, ModelSettings
from turnout.config.upstream_settings import UpstreamSettings
from turnout.gateway.api import BODIES, UNCHECKED_FIELDS, Endpoint
from turnout.gateway.request import BYTES_PER_TOKEN, GenerationRequest

OURS_TO_KEEP = frozenset(
    ("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key")
)
"""OpenAI's fields that say who asks, have text stored or cost another price."""
OPENAI_FIELDS: Mapping[Endpoint, frozenset[str]] = {
    endpoint: frozenset(body.model_fields) | UNCHECKED_FIELDS for endpoint, body in BODIES.items()
}
ANSWER_TOKENS = 256
"""Expected of an answer whose length the request leaves open."""


class Outbound(NamedTuple):
    """A body to send, and the tokens it stands for in an upstream's rates."""

    body: bytes
    tokens: int
    is_stream: bool


def outbound(upstream: UpstreamSettings, endpoint: Endpoint, body: bytes) -> Outbound:
    """Returns an engine's body as an upstream may have it.

    Nothing passes that only vLLM knows, whoever wrote it in; null is the default, spelled out.
    """
    allowed = (OPENAI_FIELDS[endpoint] - OURS_TO_KEEP).union(upstream.fields) - GATEWAY_FIELDS
    fields: dict[str, Any] = {
        name: value
        for name, value in msgspec.json.decode(body).items()
        if name in allowed and value is not None
    }
    fields["model"] = upstream.model
    if "stream_options" in fields:
        fields["stream_options"] = {"include_usage": True}
    answer = fields.get("max_completion_tokens") or fields.get("max_tokens") or ANSWER_TOKENS
    answers = 0 if endpoint == "embeddings" else answer * fields.get("n", 1)
    sent = msgspec.json.encode(fields)
    return Outbound(sent, len(sent) // BYTES_PER_TOKEN + answers, bool(fields.get("stream")))


def unknown_to(model: ModelSettings, request: GenerationRequest) -> list[str]:
    """Returns a request's fields that the upstream of a model would not understand.

    None for a model that runs here.
    """
    if model.upstream is None:
        return []
    known = OPENAI_FIELDS[request.endpoint].union(model.upstream.fields, GATEWAY_FIELDS)
    return [name for name, value in request.fields.items() if name not in known and value]
