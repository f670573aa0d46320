"""Finds the shapes of those models whose weights are on this machine already (reads files only)."""

from collections.abc import Iterable
from pathlib import Path

from turnout.config.model_args import ModelArgs
from turnout.models.errors import ModelError
from turnout.models.facts import ModelFacts, model_facts
from turnout.models.source import LocalSource, parse


def known_facts(models: Iterable[ModelArgs]) -> dict[str, ModelFacts]:
    """Reads each model's facts from its first source that is here; by public model name."""
    found = {args.model: _facts(args.sources) for args in models}
    return {model: facts for model, facts in found.items() if facts}


def _facts(sources: Iterable[str]) -> ModelFacts | None:
    for text in sources:
        try:
            folder = _folder(text)
            if folder:
                return model_facts(folder)
        except ModelError:
            continue  # a bad source or folder: the checks and the fetch say so
    return None


def _folder(text: str) -> Path | None:
    source = parse(text)
    return Path(source.path) if isinstance(source, LocalSource) else None
