"""Finds the shapes of those models whose weights are on this machine already (reads files only)."""

from collections.abc import Iterable, Sequence

from turnout.config.model_args import ModelArgs
from turnout.models.errors import ModelError
from turnout.models.facts import ModelFacts, model_facts
from turnout.models.fetch import cached_model


def known_facts(models: Iterable[ModelArgs]) -> dict[str, ModelFacts]:
    """Reads each model's facts from the folder its engine would use; by public model name."""
    found = {args.model: _facts(args.sources) for args in models}
    return {model: facts for model, facts in found.items() if facts}


def _facts(sources: Sequence[str]) -> ModelFacts | None:
    try:
        folder = cached_model(sources)
        return model_facts(folder) if folder else None
    except (ModelError, OSError, ValueError):
        # A source that is no source, or a path no system takes: the checks and the fetch say so.
        return None
