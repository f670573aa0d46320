import gzip
from pathlib import Path

import pytest

from turnout_router.errors import OutcomesInvalid
from turnout_router.outcomes import (
    LENGTH_OUTCOMES,
    LENGTH_QUESTIONS,
    AnswerLengths,
    Outcome,
    read_lengths,
    read_outcomes,
)

HEADER = "id,subject,prompt,strong,weak,clean\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "outcomes.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_that_are_not_clean_are_dropped(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "0,law,kept,1,0,1\n1,law,dropped,1,1,0\n")
    assert read_outcomes(path) == [Outcome("kept", "law", 1, 0)]


def test_a_file_without_subjects_gets_the_given_one(tmp_path: Path) -> None:
    path = write(tmp_path, "prompt,strong,weak\nq,1,0\n")
    assert read_outcomes(path, "gsm8k")[0].subject == "gsm8k"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt,strong\nq,1\n", "outcomes.csv: has no column 'weak'"),
        (HEADER + "0,law,q,1,1,1\n1,law,q,1,nan,1\n", "row 3: weak is 'nan', not 0 or 1"),
        (HEADER + "0,law,q,0.5,1,1\n", "row 2: strong is '0.5', not 0 or 1"),
    ],
)
def test_a_malformed_file_is_refused_with_file_column_and_row(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(OutcomesInvalid, match=message):
        read_outcomes(write(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutcomesInvalid, match=r"none\.csv: there is no such file"):
        read_outcomes(tmp_path / "none.csv")


def test_a_question_stands_without_its_answer_options() -> None:
    prompt = "Which is a prime?\nA. 4\nB. 5\nC. 6\nD. 8\nAnswer:"
    assert Outcome(prompt, "maths", 1, 1).question == "Which is a prime?"


def test_near_duplicates_share_a_group() -> None:
    one, two = "Which is  a prime?\nA. 4\nB. 5\nAnswer:", "which is a prime\nA. 7\nB. 8\nAnswer:"
    assert Outcome(one, "", 1, 1).group == Outcome(two, "", 1, 1).group


def write_lengths(folder: Path, questions: str, out_chars: str = "40") -> None:
    (folder / "zeroeval").mkdir()
    rows = f"dataset,id,answered,out_chars\nmath,7,1,{out_chars}\nmath,7,0,9000\n"
    for name, text in ((LENGTH_OUTCOMES, rows), (LENGTH_QUESTIONS, questions)):
        with gzip.open(folder / name, "wt", encoding="utf-8") as file:
            file.write(text)


def test_lengths_are_those_of_answers_that_were_given(tmp_path: Path) -> None:
    write_lengths(tmp_path, '{"dataset": "math", "id": 7, "question": "1+1?"}\n')
    assert read_lengths(tmp_path) == [AnswerLengths("1+1?", (40,))]


@pytest.mark.parametrize(
    ("questions", "out_chars", "message"),
    [
        ('{"dataset": "math", "id": 7}\n', "40", r"questions\.jsonl\.gz:1: is no JSON object with"),
        ("[]\n", "40", r"questions\.jsonl\.gz:1: is no JSON"),
        ("", "4.5", r"outcomes\.csv\.gz:2: out_chars is no whole number"),
    ],
)
def test_broken_lengths_are_refused_with_file_and_line(
    tmp_path: Path, questions: str, out_chars: str, message: str
) -> None:
    write_lengths(tmp_path, questions, out_chars)
    with pytest.raises(OutcomesInvalid, match=message):
        read_lengths(tmp_path)
