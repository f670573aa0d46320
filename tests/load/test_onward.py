"""A study's next run asks for nothing that the run before it asked for."""

from msgspec.structs import replace

from turnout_load.onward import onward
from turnout_load.record import Record
from turnout_load.records import Records
from turnout_load.spec import Spec, Target, Workload

SPEC = Spec(target=Target(url="http://gw/v1", model="m"), workload=Workload(skip=3), seed=5)


def sent(conversations: int) -> Records:
    records = Records()
    for index in range(conversations):
        records.append(Record(index))
        records.append(Record(index, turn=1))
    return records


def test_the_seed_and_the_dataset_go_on_by_what_was_sent() -> None:
    following = onward(SPEC, sent(10), sent(12))
    assert (following.seed, following.workload.skip) == (6, 15)
    assert onward(SPEC, sent(0)).workload.skip == 3


def test_a_trace_begins_again_unless_each_run_takes_a_number_of_requests() -> None:
    traced = replace(SPEC, workload=replace(SPEC.workload, trace="azure:a.csv"))
    assert onward(traced, sent(10)).workload.skip == 3
    assert onward(replace(traced, requests=10), sent(10)).workload.skip == 13
