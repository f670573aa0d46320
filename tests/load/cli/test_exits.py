"""Which exit code says what."""

import pytest

from turnout_load.cli.exits import exit_code
from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.spec import Spec, Target
from turnout_load.summarize import Facts, summarize

SPEC = Spec(target=Target(url="http://127.0.0.1:1/v1", model="m"), warm_up_s=1.0)
FACTS = Facts(
    started_at="2026-01-01T00:00:00+00:00",
    duration_s=1.0,
    was_stopped=False,
    environment={},
    processes=1,
    cpu_share=0.1,
    connections_opened=1,
    peak_in_flight=1,
    peak_memory_mib=1.0,
)
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
    records = Records()
    for record in sent:
        records.append(record)
    assert exit_code(summarize(records, SPEC, FACTS), all_hold) == code
