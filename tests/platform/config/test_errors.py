import pickle

import pytest

from turnout.config.errors import ConfigInvalid, ConfigUnreadable, EngineCheckFailed
from turnout.config.problems import Problem
from turnout.errors import TurnoutError


@pytest.mark.parametrize(
    "error",
    [
        ConfigInvalid("some.yaml", (Problem("a.b", 1, "should be 2", 7),)),
        ConfigUnreadable("some.yaml", "is a folder"),
        EngineCheckFailed("no answer within 300 s"),
    ],
)
def test_an_error_survives_pickling_with_its_sentence(error: TurnoutError) -> None:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_problem_reads_as_line_path_message_and_value() -> None:
    assert str(Problem("a.b[0]", "x" * 5, "should be y", 7)) == (
        "line 7: a.b[0]: should be y (found: 'xxxxx')"
    )
    assert str(Problem("", None, "the file is empty")) == "the file is empty"
