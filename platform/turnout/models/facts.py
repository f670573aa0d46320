"""What a model folder says about itself, for the checks that a deployment file must pass."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from turnout.models.errors import BadModelConfig

Json = Mapping[str, object]

# Rope types whose max_position_embeddings is the stretched window already, by vLLM's rule
_STRETCHED_ALREADY = ("su", "longrope", "llama3")
_MOST_STRETCH = 10_000  # far above any model's, so that the product stays a number


@dataclass(frozen=True)
class ModelFacts:
    """The facts that bound how a model can be served: heads, window (tokens), architecture."""

    architecture: str
    attention_heads: int
    kv_heads: int
    max_context: int


def model_facts(folder: Path) -> ModelFacts:
    """Read a folder's config.json; raises BadModelConfig when it is absent or lacks a fact."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError("it holds no JSON object")
        return facts_from_config(config)
    except (OSError, ValueError) as error:
        raise BadModelConfig(folder, str(error)) from error


def facts_from_config(config: Json) -> ModelFacts:
    """Pick the facts out of a parsed config.json; raises ValueError naming the missing key.

    A model of several modalities keeps its language model's numbers under `text_config`. Models
    without grouped queries leave `num_key_value_heads` out: each head then has its own.
    """
    nested = config.get("text_config")
    text: Json = {**config, **nested} if isinstance(nested, dict) else config
    heads = _positive_int(text, "num_attention_heads")
    kv_heads = heads if text.get("num_key_value_heads") is None else None
    return ModelFacts(
        architecture=_architecture(config),
        attention_heads=heads,
        kv_heads=kv_heads or _positive_int(text, "num_key_value_heads"),
        max_context=_window(text),
    )


def _window(config: Json) -> int:
    """The most tokens vLLM serves: `max_position_embeddings`, stretched as the rope scaling says.

    The rule is that of vLLM 0.29 (`_get_and_verify_max_len` in vllm/config/model.py): times
    `factor`, and YaRN stretches `original_max_position_embeddings` instead.
    """
    window = _positive_int(config, "max_position_embeddings")
    if "gemma3" in str(config.get("model_type")):
        return window  # it states the stretched window too
    factor = 1.0
    for rope in _ropes(config):
        kind = rope.get("rope_type", rope.get("type"))
        if kind not in _STRETCHED_ALREADY:
            factor = _factor(rope, factor)
        if kind == "yarn" and "original_max_position_embeddings" in rope:
            window = _positive_int(rope, "original_max_position_embeddings")
    return int(window * factor)


def _ropes(config: Json) -> Iterator[Json]:
    """The rope's settings: one for all layers, or one for each kind of layer (transformers 5)."""
    settings = config.get("rope_scaling") or config.get("rope_parameters")
    if isinstance(settings, dict):
        yield settings
        yield from (each for each in settings.values() if isinstance(each, dict))


def _factor(rope: Json, default: float) -> float:
    value = rope.get("factor")
    if value is None:
        return default
    if isinstance(value, int | float) and 1 <= value <= _MOST_STRETCH:
        return value
    raise ValueError(
        f"the rope's 'factor' should be a number from 1 to {_MOST_STRETCH}, not {value!r}"
    )


def _architecture(config: Json) -> str:
    names = config.get("architectures")
    if not isinstance(names, list) or not names or not isinstance(names[0], str):
        raise ValueError("'architectures' should list the model's class, such as LlamaForCausalLM")
    return names[0]


def _positive_int(config: Json, key: str) -> int:
    value = config.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{key!r} should be a positive whole number, not {value!r}")
    return value
