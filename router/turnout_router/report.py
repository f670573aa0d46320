"""The training report: where an artifact's numbers come from and how good they are."""

from collections.abc import Callable, Sequence
from importlib import metadata
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import brier_score_loss, roc_auc_score

from turnout_router import metrics
from turnout_router.outcomes import Outcome

THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85)
LABEL = "Mixtral-8x7B-Instruct answered right (strong model: GPT-4-1106-preview)"
SOURCES = (
    {"name": "RouteLLM MMLU and GSM8K outcomes", "licence": "Apache-2.0", "use": "difficulty"},
    {"name": "ZeroEval answers of 43 to 51 models", "licence": "Apache-2.0", "use": "length"},
    {"name": "wordllama l2_supercat_256 token vectors", "licence": "MIT", "use": "static encoder"},
    {"name": "all-MiniLM-L6-v2", "licence": "Apache-2.0", "use": "minilm encoder"},
)

Floats = NDArray[np.float64]
Scores = dict[str, float]
Measure = Callable[[Sequence[Outcome], Floats], Scores]


def provenance(encoder: str, seed: int, penalty: float) -> dict[str, Any]:
    """Returns what a reader needs to train the same artifact again."""
    packages = ("numpy", "scikit-learn", "sentence-transformers", "wordllama")
    return {
        "label": LABEL,
        "sources": [s for s in SOURCES if not s["use"].endswith("encoder") or encoder in s["use"]],
        "seed": seed,
        "penalty": penalty,
        "versions": {name: metadata.version(name) for name in packages},
    }


def ranking(outcomes: Sequence[Outcome], score: Floats) -> Scores:
    """Returns AUC and APGR of any score that is higher where weak is likelier right."""
    strong, weak = _columns(outcomes)
    return _rounded(auc=roc_auc_score(weak, score), apgr=metrics.apgr(strong, weak, score))


def scores(outcomes: Sequence[Outcome], probability: Floats) -> Scores:
    """Returns AUC, APGR, ECE and Brier score of P(weak is right), and how often either is."""
    strong, weak = _columns(outcomes)
    return ranking(outcomes, probability) | _rounded(
        ece=metrics.ece(weak, probability),
        brier=brier_score_loss(weak, probability),
        weak_right=weak.mean(),
        strong_right=strong.mean(),
    )


def by_dataset(
    outcomes: Sequence[Outcome], score: Floats, measure: Measure = scores
) -> dict[str, Scores]:
    """Measures over all outcomes and over MMLU and GSM8K alone."""
    is_gsm8k = np.array([outcome.subject == "gsm8k" for outcome in outcomes])
    parts = {"all": np.full(len(outcomes), True), "mmlu": ~is_gsm8k, "gsm8k": is_gsm8k}
    return {
        name: measure(list(compress(outcomes, keep)), score[keep]) for name, keep in parts.items()
    }


def baselines(seen: Sequence[Outcome], unseen: Sequence[Outcome]) -> dict[str, Any]:
    """Returns what the prompt's length alone and the known subject alone would score."""
    rights: dict[str, list[int]] = {}
    for outcome in seen:
        rights.setdefault(outcome.subject, []).append(outcome.weak)
    anywhere = [outcome.weak for outcome in seen]
    length = [-float(len(outcome.prompt)) for outcome in unseen]
    subject = [float(np.mean(rights.get(outcome.subject, anywhere))) for outcome in unseen]
    return {
        "prompt_length": by_dataset(unseen, np.array(length), ranking),
        "subject": by_dataset(unseen, np.array(subject), ranking),
    }


def thresholds(outcomes: Sequence[Outcome], probability: Floats) -> list[Scores]:
    """Returns the share of strong calls and the quality kept at each of THRESHOLDS."""
    strong, weak = _columns(outcomes)
    return metrics.threshold_table(strong, weak, probability, THRESHOLDS)


def _columns(outcomes: Sequence[Outcome]) -> tuple[Floats, Floats]:
    strong = np.array([outcome.strong for outcome in outcomes], dtype=np.float64)
    weak = np.array([outcome.weak for outcome in outcomes], dtype=np.float64)
    return strong, weak


def _rounded(**values: float) -> Scores:
    return {name: round(float(value), 4) for name, value in values.items()}
