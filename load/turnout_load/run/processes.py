"""A run over processes of this machine: starts them together, listens, and stops them."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

import uvloop

from turnout_load.errors import LoadError, WorkerLost
from turnout_load.live import Snapshot, merge
from turnout_load.run.worker import Outcome, Worker
from turnout_load.spec import Spec

TELL_S = 0.25
COUNT = "count"
"""Said to a worker when none sends any more."""
LEAD_S = 0.1
"""From the last worker's readiness to the start."""


def run_processes(spec: Spec, tell: Callable[[Snapshot], None]) -> tuple[list[Outcome], list[str]]:
    """Runs a spec on `spec.processes` processes; returns their outcomes and their notes.

    Ctrl-C stops the run and returns what was measured; where that is nothing, because the processes
    still start, it raises `KeyboardInterrupt`. Raises `LoadError` where the spec cannot be used, or
    a process dies.
    """
    context = multiprocessing.get_context("spawn")
    pipes: list[Connection] = []
    started: list[SpawnProcess] = []
    with _ctrl_c() as stop:
        try:
            for index in range(spec.processes):
                ours, theirs = context.Pipe()
                process = context.Process(target=_main, args=(theirs, spec, index), daemon=True)
                with _out_of_reach():
                    process.start()
                theirs.close()
                pipes.append(ours)
                started.append(process)
            notes = _together(pipes, stop)
            outcomes = _listen(pipes, stop, tell)
            if spec.workload.tokenizer is not None:
                outcomes = _count(pipes, outcomes)
        finally:
            for pipe in pipes:
                pipe.close()
            for process in started:
                process.terminate()
                process.join()
        if stop.is_set():  # it may have come too late for this run, and is meant for the next too
            outcomes = [replace(each, was_stopped=True) for each in outcomes]
    return outcomes, notes


@contextmanager
def _ctrl_c() -> Iterator[threading.Event]:
    """Yields what Ctrl-C sets meanwhile: an exception could break off a message half read."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _out_of_reach() -> Iterator[None]:
    """Lets processes start that Ctrl-C cannot end before `_main` ignores it: it is the parent's."""
    resource_tracker.ensure_running()  # its own start would end the blocking
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _together(pipes: Sequence[Connection], stop: threading.Event) -> list[str]:
    """Waits until every worker is ready, then tells all of them when to start."""
    notes: list[str] = []
    for pipe in pipes:
        while not pipe.poll(TELL_S):
            if stop.is_set():
                raise KeyboardInterrupt  # nothing has been measured yet
        answer = _receive(pipe)
        notes = [*notes, *(note for note in answer if note not in notes)]
    start_wall_ns = time.time_ns() + round(LEAD_S * 1e9)
    for pipe in pipes:
        pipe.send(start_wall_ns)
    return notes


def _listen(
    pipes: Sequence[Connection], stop: threading.Event, tell: Callable[[Snapshot], None]
) -> list[Outcome]:
    latest: dict[Connection, Snapshot] = {}
    outcomes: dict[Connection, Outcome] = {}
    told_to_stop = False
    while len(outcomes) < len(pipes):
        for pipe in wait([pipe for pipe in pipes if pipe not in outcomes], timeout=TELL_S):
            assert isinstance(pipe, Connection)
            said = _receive(pipe)
            if isinstance(said, Outcome):
                outcomes[pipe] = said
            else:
                latest[pipe] = said
        if latest:
            tell(merge(list(latest.values())))
        if stop.is_set() and not told_to_stop:
            told_to_stop = True
            for pipe in pipes:
                with suppress(OSError):  # it may just have ended by itself
                    pipe.send("stop")
    return [outcomes[pipe] for pipe in pipes]


def _count(pipes: Sequence[Connection], outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Lets the workers count tokens, now that none of them measures any more."""
    for pipe in pipes:
        with suppress(OSError):
            pipe.send(COUNT)
    counted = []
    for pipe, outcome in zip(pipes, outcomes, strict=True):
        try:
            counted.append(outcome.counted(_receive(pipe)))
        except LoadError as problem:
            counted.append(outcome.counted(problem))
    return counted


def _receive(pipe: Connection) -> Any:
    """Returns what a worker says; raises what it raised."""
    try:
        said = pipe.recv()
    except (EOFError, ConnectionError):
        raise WorkerLost from None
    if isinstance(said, LoadError):
        raise said
    return said


def _main(pipe: Connection, spec: Spec, index: int) -> None:
    """A worker process's whole life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C and says what to do
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection is a file
    try:
        worker = Worker(spec, index, spec.processes)
        pipe.send(worker.notes)
        start_wall_ns = pipe.recv()
        pipe.send(uvloop.run(_run(pipe, worker, start_wall_ns)))
        while pipe.recv() != COUNT:
            pass  # a stop that came too late
        pipe.send(worker.count())
    except LoadError as refused:
        pipe.send(refused)
    except (EOFError, ConnectionError):
        pass  # the parent is gone: nobody to tell


async def _run(pipe: Connection, worker: Worker, start_wall_ns: int) -> Outcome:
    loop = asyncio.get_running_loop()
    loop.add_reader(pipe.fileno(), worker.stop)  # whatever comes now, even the end, means stop
    os.set_blocking(pipe.fileno(), True)  # uvloop cleared it: a large outcome would break off
    teller = asyncio.create_task(_tell(pipe, worker))
    try:
        return await worker.run(start_wall_ns)
    finally:
        teller.cancel()
        loop.remove_reader(pipe.fileno())


async def _tell(pipe: Connection, worker: Worker) -> None:
    while True:
        await asyncio.sleep(TELL_S)
        can_write = select.select([], [pipe], [], 0)[1]  # a halted terminal must not halt the run
        if can_write and (snapshot := worker.snapshot()):
            pipe.send(snapshot)
