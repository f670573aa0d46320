"""Recorded outcomes to train on: what a strong and a weak model made of the same prompts.

Reads the public files of RouteLLM (MMLU and GSM8K, Apache-2.0) and ZeroEval (Apache-2.0).
"""

import csv
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from turnout_router.errors import OutcomesInvalid

MMLU, GSM8K = "routellm_mmlu.csv.gz", "routellm_gsm8k.csv.gz"
LENGTH_QUESTIONS, LENGTH_OUTCOMES = "zeroeval/questions.jsonl.gz", "zeroeval/outcomes.csv.gz"

_OPTIONS = re.compile(r"\n\s*A[.)] .*", re.DOTALL)


@dataclass(frozen=True)
class Outcome:
    """One prompt, the subject it belongs to, and whether either model answered it right."""

    prompt: str
    subject: str
    strong: int
    weak: int

    @property
    def question(self) -> str:
        """The prompt as an ordinary user would ask it: without answer options."""
        return _OPTIONS.sub("", self.prompt).strip()

    @property
    def group(self) -> str:
        """What near-duplicates share: the question's letters and digits."""
        return words_only(self.question)


@dataclass(frozen=True)
class AnswerLengths:
    """One question and the lengths in characters of several models' answers to it."""

    question: str
    characters: tuple[int, ...]

    @property
    def group(self) -> str:
        """What near-duplicates share: the question's letters and digits."""
        return words_only(self.question)


def words_only(text: str) -> str:
    """Returns the text's letters and digits in lower case, with single spaces between."""
    return re.sub(r"\W+", " ", text.lower()).strip()


def read_outcomes(path: Path, subject: str = "") -> list[Outcome]:
    """Reads a CSV (gzipped or not) of id, prompt, strong, weak and maybe subject, clean.

    Rows with clean=0 are dropped. Raises OutcomesInvalid with the column and row.
    """
    outcomes = []
    for number, row in _rows(path, ("prompt", "strong", "weak")):
        if row.get("clean", "1") == "0":
            continue
        if row["strong"] not in ("0", "1") or row["weak"] not in ("0", "1"):
            column = "weak" if row["strong"] in ("0", "1") else "strong"
            raise OutcomesInvalid(
                str(path), f"row {number}: {column} is {row[column]!r}, not 0 or 1"
            )
        name = row.get("subject") or subject
        outcomes.append(Outcome(row["prompt"], name, int(row["strong"]), int(row["weak"])))
    return outcomes


def read_lengths(folder: Path) -> list[AnswerLengths]:
    """Reads ZeroEval's questions with the lengths of the answers that models gave to them."""
    lengths: dict[tuple[str, str], list[int]] = {}
    outcomes = folder / LENGTH_OUTCOMES
    for number, row in _rows(outcomes, ("dataset", "id", "answered", "out_chars")):
        if row["answered"] == "1":  # a failed answer's length says nothing
            if not row["out_chars"].isdecimal():
                raise OutcomesInvalid(f"{outcomes}:{number}", "out_chars is no whole number")
            lengths.setdefault((row["dataset"], row["id"]), []).append(int(row["out_chars"]))
    return [
        AnswerLengths(question, tuple(known))
        for key, question in _questions(folder / LENGTH_QUESTIONS)
        if (known := lengths.get(key))
    ]


def _questions(path: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """Yields ((dataset, id), question)."""
    if not path.is_file():
        raise OutcomesInvalid(str(path), "there is no such file")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                yield (row["dataset"], str(row["id"])), row["question"]
            except (ValueError, KeyError, TypeError):
                problem = "is no JSON object with dataset, id and question"
                raise OutcomesInvalid(f"{path}:{number}", problem) from None


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields (row number, row) with the header as row 1."""
    if not path.is_file():
        raise OutcomesInvalid(str(path), "there is no such file")
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        for column in columns:
            if column not in (reader.fieldnames or ()):
                raise OutcomesInvalid(str(path), f"has no column {column!r}")
        yield from enumerate(reader, start=2)
