"""Training of the length estimate: log tokens of an answer, linear in the features."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold, cross_val_predict

from turnout_router.encoders import Encoder
from turnout_router.features import features
from turnout_router.outcomes import AnswerLengths
from turnout_router.router import standardised
from turnout_router.text import bounded

FOLDS = 5
PENALTIES = (1e2, 1e3, 1e4, 1e5)  # ridge's alpha: larger is stricter
CHARACTERS_PER_TOKEN = 3.5  # English with numbers, Llama's and Qwen's tokenizers: 3 to 4
QUANTILE = 0.9

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FittedLength:
    """The artifact's arrays for the length estimate, and what was measured."""

    arrays: dict[str, Floats]
    report: dict[str, Any]


def fit_length(
    answers: list[AnswerLengths], encoder: Encoder, mean: Floats, scale: Floats
) -> FittedLength:
    """Fits the median answer by ridge regression; the spread up to p90 is that on unseen folds.

    `mean` and `scale` standardise the features as the difficulty does.
    """
    texts = [bounded(answer.question) for answer in answers]
    rows = standardised(features(texts, encoder), mean, scale)
    medians = np.log([np.median(answer.characters) / CHARACTERS_PER_TOKEN for answer in answers])
    folds = list(GroupKFold(FOLDS).split(rows, groups=[answer.group for answer in answers]))
    unseen = cross_val_predict(RidgeCV(PENALTIES), rows, medians, cv=folds)
    above = [
        np.log(np.array(answer.characters) / CHARACTERS_PER_TOKEN) - predicted
        for answer, predicted in zip(answers, unseen, strict=True)
    ]
    spread = np.quantile(np.concatenate(above), QUANTILE)
    fitted = RidgeCV(PENALTIES).fit(rows, medians)
    arrays = {
        "length_weights": fitted.coef_,
        "length_intercept": np.array(fitted.intercept_),
        "length_spread": np.array(spread),
    }
    return FittedLength(arrays, _report(answers, medians, unseen, float(fitted.alpha_)))


def _report(
    answers: list[AnswerLengths], medians: Floats, unseen: Floats, penalty: float
) -> dict[str, Any]:
    return {
        "questions": len(answers),
        "answers": sum(len(answer.characters) for answer in answers),
        "ridge_alpha": penalty,
        "characters_per_token": CHARACTERS_PER_TOKEN,
        "median_relative_error_unseen_questions": _error(unseen, medians),
        "median_relative_error_of_one_constant": _error(float(np.median(medians)), medians),
    }


def _error(predicted: Floats | float, logs: Floats) -> float:
    return round(float(np.median(np.abs(np.expm1(predicted - logs)))), 3)
