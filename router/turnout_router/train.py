"""Training: recorded outcomes to an artifact with its report.

The label is whether the weak model answered right. Every fold and split keeps near-duplicate
prompts together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, GroupShuffleSplit, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from turnout_router import report
from turnout_router.artifact import Artifact
from turnout_router.encoders import Encoder
from turnout_router.errors import OutcomesInvalid
from turnout_router.features import features
from turnout_router.length import fit_length
from turnout_router.outcomes import GSM8K, MMLU, Outcome, read_lengths, read_outcomes
from turnout_router.router import PROBE, clipped
from turnout_router.text import bounded

FOLDS = 5
HELD_OUT = 0.2
PENALTIES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)  # logistic regression's C: smaller is stricter

Floats = NDArray[np.float64]
Index = NDArray[np.intp]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Views:
    """Two views of each of n outcomes: the n prompts as recorded, then the n bare questions.

    MMLU's prompts carry answer options, an ordinary chat does not; training on both keeps the
    format from speaking for the difficulty. `rows` has shape (2 n, width).
    """

    rows: Floats
    weak: Floats
    groups: list[str]
    subjects: list[str]

    @classmethod
    def of(cls, outcomes: list[Outcome], encoder: Encoder) -> "Views":
        """Computes the features of both views of each outcome."""
        texts = [outcome.prompt for outcome in outcomes]
        texts += [outcome.question for outcome in outcomes]
        return cls(
            rows=features([bounded(text) for text in texts], encoder),
            weak=np.array([outcome.weak for outcome in outcomes] * 2, dtype=np.float64),
            groups=[outcome.group for outcome in outcomes] * 2,
            subjects=[outcome.subject for outcome in outcomes] * 2,
        )

    def take(self, index: Index) -> "Views":
        """Returns both views of the outcomes at the index."""
        both = np.concatenate([index, index + len(self.rows) // 2])
        groups = [self.groups[i] for i in both]
        return Views(self.rows[both], self.weak[both], groups, [self.subjects[i] for i in both])


def train(folder: Path, encoder: Encoder, seed: int = 0, say: Say = print) -> Artifact:
    """Trains on a folder's RouteLLM and ZeroEval files and returns the artifact.

    Raises OutcomesInvalid for a file that is missing or malformed.
    """
    outcomes = read_outcomes(folder / MMLU) + read_outcomes(folder / GSM8K, subject="gsm8k")
    _check(outcomes, folder)
    lengths = read_lengths(folder)
    say(f"{len(outcomes)} outcomes, {len(lengths)} questions with answer lengths: encoding")
    views = Views.of(outcomes, encoder)
    with threadpool_limits(1):  # matrices this small are slower on many threads
        say("training on a part, measuring on the rest")
        measured = _measure(outcomes, views, seed)
        say("training on all of it")
        fitted, penalty = fit_difficulty(views)
        linear = _difficulty_arrays(fitted)
        length = fit_length(lengths, encoder, linear["mean"], linear["scale"])
    probe = encoder.encode([PROBE])[0].astype(np.float64)
    return Artifact(
        encoder=encoder.name,
        arrays={**linear, **length.arrays, "probe": probe},
        report={
            **report.provenance(encoder.name, seed, penalty),
            "difficulty": measured,
            "length": length.report,
        },
    )


def fit_difficulty(views: Views) -> tuple[CalibratedClassifierCV, float]:
    """Fits a logistic regression and Platt's calibration on folds it did not see.

    Returns the classifier and the penalty C that the folds chose.
    """
    folds = list(GroupKFold(FOLDS).split(views.rows, groups=views.groups))
    search = GridSearchCV(
        _pipeline(), {"logisticregression__C": PENALTIES}, scoring="neg_log_loss", cv=folds
    ).fit(views.rows, views.weak)
    fitted = CalibratedClassifierCV(search.best_estimator_, cv=folds, ensemble=False)
    return fitted.fit(views.rows, views.weak), float(search.best_params_["logisticregression__C"])


def _check(outcomes: list[Outcome], folder: Path) -> None:
    """Raises OutcomesInvalid where there is nothing to learn or too little to fold."""
    labels = {outcome.weak for outcome in outcomes}
    questions = len({outcome.group for outcome in outcomes})
    subjects = len({outcome.subject for outcome in outcomes})
    if len(labels) == 1:
        raise OutcomesInvalid(str(folder), f"weak is {labels.pop()} in every row")
    if questions < 10 * FOLDS:
        raise OutcomesInvalid(str(folder), f"{questions} different question(s) are too few")
    if subjects < 2:
        raise OutcomesInvalid(str(folder), "a single subject can't be held out")


def _pipeline(penalty: float = 1.0) -> Pipeline:
    return make_pipeline(
        StandardScaler(),
        FunctionTransformer(clipped),
        LogisticRegression(C=penalty, max_iter=1000),
    )


def _difficulty_arrays(fitted: CalibratedClassifierCV) -> dict[str, Floats]:
    """Returns the scaler and the calibrated regression as one linear model."""
    (calibrated,) = fitted.calibrated_classifiers_
    scaler, _, regression = (step for _, step in calibrated.estimator.steps)
    (platt,) = calibrated.calibrators  # P = 1 / (1 + exp(a * logit + b))
    return {
        "mean": scaler.mean_,
        "scale": scaler.scale_,
        "difficulty_weights": -platt.a_ * regression.coef_[0],
        "difficulty_intercept": np.array(-platt.a_ * regression.intercept_[0] - platt.b_),
    }


def _measure(outcomes: list[Outcome], views: Views, seed: int) -> dict[str, Any]:
    """Trains without a grouped fifth of the outcomes and reports on that fifth."""
    split = GroupShuffleSplit(n_splits=1, test_size=HELD_OUT, random_state=seed)
    count = len(outcomes)
    seen, unseen = next(split.split(views.rows[:count], groups=views.groups[:count]))
    fitted, penalty = fit_difficulty(views.take(seen))
    probability = fitted.predict_proba(views.take(unseen).rows)[:, 1]
    new_subjects = cross_val_predict(
        _pipeline(penalty),
        views.rows,
        views.weak,
        groups=views.subjects,
        cv=GroupKFold(min(8, len(set(views.subjects)))),
        method="predict_proba",
    )[:, 1]
    as_recorded, bare = np.split(probability, 2)
    held = [outcomes[i] for i in unseen]
    return {
        "trained_on": len(seen),
        "measured_on": len(unseen),
        "held_out_questions": report.by_dataset(held, as_recorded),
        "held_out_questions_without_options": report.by_dataset(held, bare),
        "held_out_subjects": report.by_dataset(outcomes, new_subjects[:count]),
        "baselines": report.baselines([outcomes[i] for i in seen], held),
        "thresholds": report.thresholds(held, as_recorded),
    }
