from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from turnout_load.bench.gateway.direct import Direct, endpoint_of
from turnout_load.bench.gateway.driver import CHUNKS, Load
from turnout_load.bench.gateway.processes import launched, marked
from turnout_load.bench.gateway.readiness import await_answer
from turnout_load.bench.gateway.rounds import Plan, measured
from turnout_load.bench.gateway.system import Endpoint, Stage, System, SystemFailed

LOADS = (Load("c2", 2), Load("stream_c4", 4, stream=True))
PLAN = Plan(LOADS, rounds=2, seconds=0.8, seed=1)


def test_every_load_of_every_round_goes_both_ways_and_is_accounted_for(
    proxy: System, stage: Stage
) -> None:
    pairs = measured(proxy, stage, PLAN)
    assert {name: len(of_load) for name, of_load in pairs.items()} == {"c2": 2, "stream_c4": 2}
    for pair in (*pairs["c2"], *pairs["stream_c4"]):
        assert not pair.direct.failures + pair.through.failures
        assert pair.direct.answered
        assert pair.through.answered
        assert sum(pair.rss_mb.values()) > 1
    for pair in pairs["stream_c4"]:
        assert pair.through.chunks == CHUNKS * pair.through.answered
    spent = [sum(pair.cpu_s.values()) for of_load in pairs.values() for pair in of_load]
    assert sum(spent) > 0
    assert not marked(stage.mark)


def test_the_way_past_all_gateways_has_no_processes(stage: Stage) -> None:
    pair = measured(Direct(), stage, Plan(LOADS[:1], rounds=1, seconds=0.5, seed=1))["c2"][0]
    assert (pair.cpu_s, pair.rss_mb) == ({}, {})


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_a_system_that_runs_on_other_cores_too_is_refused(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Roams:
        name = "roams"
        locks: str | None = None

        @contextmanager
        def started(self, stage: Stage) -> Iterator[Endpoint]:
            roam = f"import os, time; os.sched_setaffinity(0, {os.sched_getaffinity(0)})"
            code = f"{roam}; print('roams', flush=True); time.sleep(60)"
            with launched(stage, (str(stage.python), "-c", code), {}) as process:
                while "roams" not in stage.log.read_text():
                    assert process.poll() is None
                yield endpoint_of(stage.mock)

    with pytest.raises(SystemFailed, match="not bound to one core"):
        measured(Roams(), stage, PLAN)
    assert not marked(stage.mark)


def test_a_system_that_ends_at_its_start_is_refused_with_its_last_words(stage: Stage) -> None:
    class Ends:
        name = "ends"
        locks: str | None = None

        @contextmanager
        def started(self, stage: Stage) -> Iterator[Endpoint]:
            endpoint = Endpoint("http://127.0.0.1:1/v1", "small")
            code = "import os; exit('no ' + os.environ['WHAT'])"
            with launched(stage, (str(stage.python), "-c", code), {"WHAT": "port"}) as process:
                await_answer(self.name, endpoint, stage, lambda: process.wait() is not None)
                yield endpoint

    with pytest.raises(SystemFailed, match=r"ends: ended at its start; .*\nno port"):
        measured(Ends(), stage, PLAN)
