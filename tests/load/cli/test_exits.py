"""Which exit code says what."""

import pytest
from tests.load.made import FACTS, records_of

from turnout_load.cli.exits import exit_code
from turnout_load.record import Record
from turnout_load.spec import Spec, Target
from turnout_load.summarize import summarize

SPEC = Spec(target=Target(url="http://127.0.0.1:1/v1", model="m"), warm_up_s=1.0)
IN_WARM_UP = Record(0, end_ns=5)
WELL = Record(1, intended_ns=2_000_000_000, end_ns=2_000_000_005)
FAILED = Record(2, intended_ns=2_000_000_000, end_ns=2_000_000_005, error="http")


@pytest.mark.parametrize(
    ("sent", "all_hold", "code"),
    [
        ([WELL, FAILED], True, 0),
        ([WELL], False, 1),
        ([FAILED], True, 3),
        ([IN_WARM_UP], True, 3),
        ([], True, 3),
    ],
)
def test_a_run_without_one_good_answer_has_a_code_of_its_own(
    sent: list[Record], all_hold: bool, code: int
) -> None:
    assert exit_code(summarize(records_of(*sent), SPEC, FACTS), all_hold) == code
