"""What a request says never reaches the log: not prompts, answers, headers, keys or paths."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.gateway.system import COMPLETIONS, HI

if TYPE_CHECKING:
    from tests.platform.gateway.fake_engine import FakeEngine
    from tests.platform.gateway.system import System

MARK = "xyzzy-marker"
CLIENTS_OWN = ("httpx", "httpcore", "asyncio")


async def use_everything(system: System, small: FakeEngine) -> None:
    """Answers and errors of every kind, each with the mark in all that a client can say."""
    headers = {"authorization": f"Bearer {MARK}", "cookie": MARK}
    said: dict[str, Any] = {"model": "small", "messages": [{"role": "user", "content": MARK}]}
    bodies: list[Any] = [
        said,
        {**said, "model": "auto", "stream": True},
        {**said, "messages": [{"role": "user", "content": MARK * 500}]},
        {**said, MARK: 1},
        {**said, "model": MARK},
        {**said, "user": [MARK]},
        {**said, "stop": {MARK: MARK}},
        f'{{"model": "{MARK}'.encode(),
        MARK.encode() + b"\xff",
    ]
    for body in bodies:
        await system.post(body, headers=headers)
    await system.post({"model": "small", "prompt": MARK}, COMPLETIONS, headers=headers)
    await system.client.get(f"/{MARK}?key={MARK}", headers=headers)
    for knob, value in (("dies_after", 1), ("dies_after", 0), ("answer", (500, MARK.encode()))):
        setattr(small, knob, value)
        await system.post(said, headers=headers)
        await system.post({**said, "stream": True}, headers=headers)


async def test_no_record_repeats_what_a_client_said(
    system: System,
    small: FakeEngine,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    small.words = (MARK,)
    await use_everything(system, small)

    def breaks(_model: str) -> Any:
        raise ValueError(MARK)

    monkeypatch.setattr(system.table, "replicas", breaks)
    assert (await system.chat()).status_code == 500
    monkeypatch.undo()
    records = [each for each in caplog.records if not each.name.startswith(CLIENTS_OWN)]
    events = {each.getMessage() for each in records}
    assert {"decision", "answer_broken", "gateway_fault"} <= events
    formatter = logging.Formatter()
    for record in records:
        assert MARK not in f"{formatter.format(record)} {record.__dict__}"


async def test_a_decision_is_logged_with_its_reason(
    system: System, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    answer = await system.chat("auto")
    (record,) = [each for each in caplog.records if each.message == "decision"]
    logged = {key: record.__dict__[key] for key in ("request_id", "asked", "model", "because")}
    assert logged == {
        "request_id": answer.headers["x-request-id"],
        "asked": "auto",
        "model": "small",
        "because": answer.headers["x-turnout-decision"],
    }
    assert HI[0]["content"] not in f"{record.__dict__}"
