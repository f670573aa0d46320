"""A model that an upstream answers: what travels, what comes back, what is paid, what is told."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.gateway.system import CHAT, COMPLETIONS, HI, eventually
from tests.platform.gateway.upstream.conftest import KEY, Beyond

from turnout.access.caller import Caller
from turnout.gateway.app import Governance

if TYPE_CHECKING:
    from tests.platform.gateway.fake_engine import FakeEngine

USED = {"prompt_tokens": 11, "total_tokens": 15, "completion_tokens": 4}


@pytest.mark.parametrize("stream", [False, True])
async def test_an_upstream_answers_under_the_models_name_here(beyond: Beyond, stream: bool) -> None:
    answer = await beyond.system.chat("far", stream=stream)
    assert answer.status_code == 200
    assert answer.headers["x-turnout-model"] == "far"
    assert " an" in answer.text
    assert "their-name" not in answer.text
    assert '"model":"far"' in answer.text
    assert beyond.provider.generations[0]["model"] == "their-name"


async def test_the_key_and_nothing_of_the_clients_headers_travels(beyond: Beyond) -> None:
    mine = {"authorization": "Bearer mine", "cookie": "a=b", "x-request-id": "r", "x-own": "1"}
    await beyond.system.post({"model": "far", "messages": HI}, headers=mine)
    (seen,) = beyond.provider.headers
    assert seen["authorization"] == f"Bearer {KEY}"
    assert not {"cookie", "x-request-id", "x-own"} & seen.keys()


async def test_what_only_vllm_knows_and_who_asks_stays_here(beyond: Beyond) -> None:
    beyond.system.govern(Governance(access=OneTeam(), ledger=beyond.records))
    fields: dict[str, Any] = {"user": "u-1", "metadata": {"a": "b"}, "store": True, "top_p": None}
    answer = await beyond.system.chat("far", stream=True, temperature=0.5, **fields)
    assert answer.status_code == 200
    (sent,) = beyond.provider.generations
    assert sent == {
        "model": "their-name",
        "messages": HI,
        "stream": True,
        "temperature": 0.5,
        "stream_options": {"include_usage": True},
    }


async def test_a_field_that_the_upstream_does_not_know_is_refused_by_name(beyond: Beyond) -> None:
    answer = await beyond.system.chat("far", top_k=5)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "top_k")
    assert beyond.provider.received == []
    beyond.configure(fields=["top_k"])
    assert (await beyond.system.chat("far", top_k=5)).status_code == 200
    assert beyond.provider.generations[0]["top_k"] == 5


@pytest.mark.parametrize("stream", [False, True])
async def test_usage_is_the_upstreams_at_its_own_price(beyond: Beyond, stream: bool) -> None:
    answer = await beyond.system.chat("far", stream=stream)
    assert "usage" in answer.text or stream  # a stream's client did not ask for it
    await eventually(lambda: bool(beyond.records.all))
    (record,) = beyond.records.all
    assert (record.model, record.market, record.status) == ("far", "upstream", 200)
    assert (record.prompt_tokens, record.completion_tokens) == (11, 4)
    # 11 prompt tokens at $1 and 4 of the answer at $10 a million
    assert record.list_cost_usd == pytest.approx(51e-6)


async def test_a_stream_that_a_client_leaves_is_paid_with_its_prompt(beyond: Beyond) -> None:
    beyond.provider.words, beyond.provider.delay_s = ("x ",) * 500, 0.01
    async with beyond.system.streaming("far") as answer:
        chunks = answer.aiter_bytes()
        await anext(chunks)
        await anext(chunks)
    await eventually(lambda: bool(beyond.records.all))
    (record,) = beyond.records.all
    assert record.prompt_tokens > 0
    assert 0 < record.completion_tokens < 500
    await eventually(lambda: beyond.provider.running == 0)


async def test_completions_and_embeddings_have_their_paths(beyond: Beyond) -> None:
    beyond.configure({"capabilities": ["completions", "embeddings"]})
    said = await beyond.system.post({"model": "far", "prompt": "a", "max_tokens": 3}, COMPLETIONS)
    vectors = await beyond.system.post({"model": "far", "input": ["a", "b"]}, "/v1/embeddings")
    assert (said.status_code, vectors.status_code) == (200, 200)
    assert vectors.json()["data"][1]["embedding"] == [0.5, -1.0, 2.0]
    assert [path for path, _ in beyond.provider.received] == [COMPLETIONS, "/v1/embeddings"]


async def test_another_root_than_v1_is_taken_as_it_is(beyond: Beyond) -> None:
    beyond.configure(base_url=f"{beyond.url}/openai/v1/")
    await beyond.system.chat("far")
    assert [path for path, _ in beyond.provider.received] == [f"/openai{CHAT}"]


async def test_a_key_in_another_header_travels_as_it_is(beyond: Beyond) -> None:
    beyond.provider.keys = set()
    beyond.configure(api_key_header="api-key")
    await beyond.system.chat("far")
    (seen,) = beyond.provider.headers
    assert seen["api-key"] == KEY
    assert "authorization" not in seen


async def test_a_new_key_in_the_file_is_used_while_the_gateway_runs(
    beyond: Beyond, tmp_path: Path
) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    beyond.configure(api_key_file=str(file))
    assert (await beyond.system.chat("far")).status_code == 200
    beyond.provider.keys = {"sk-new"}
    file.write_text("sk-new\n")
    await asyncio.sleep(1.1)
    assert (await beyond.system.chat("far")).status_code == 200


async def test_a_model_without_its_key_is_not_ready_and_others_are(
    beyond: Beyond, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("FAR_KEY")
    beyond.configure(max_running=3)
    answer = await beyond.system.chat("far")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "no_ready_replica")
    (told,) = [each for each in caplog.records if each.message == "upstream_key_missing"]
    assert (told.__dict__["model"], told.__dict__["where"]) == ("far", "FAR_KEY")
    assert (await beyond.system.client.get("/readyz")).status_code == 200
    assert await beyond.system.metric("turnout_replicas_ready", model="far") == 0


async def test_an_upstream_counts_as_a_ready_replica_of_its_market(beyond: Beyond) -> None:
    ready = await beyond.system.metric("turnout_replicas_ready", model="far", market="upstream")
    assert ready == 1
    listed = (await beyond.system.client.get("/v1/models")).json()["data"]
    assert {"far": 4096}.items() <= {each["id"]: each["context_window"] for each in listed}.items()


@pytest.mark.parametrize("status", [302, 401, 403, 404, 405, 418, 500, 502, 529])
async def test_an_operators_trouble_is_no_fault_of_the_client(beyond: Beyond, status: int) -> None:
    beyond.provider.refuses = (status, f'{{"error": {{"message": "{KEY}"}}}}'.encode(), {})
    answer = await beyond.system.chat("far")
    assert answer.status_code in (502, 503)
    assert KEY not in answer.text


async def test_a_redirect_is_not_followed(beyond: Beyond) -> None:
    beyond.provider.refuses = (307, b"", {"location": f"{beyond.url}/elsewhere"})
    assert (await beyond.system.chat("far")).status_code in (502, 503)
    assert {path for path, _ in beyond.provider.received} == {CHAT}


async def test_a_wrong_request_is_told_in_the_upstreams_words(beyond: Beyond) -> None:
    said = f'{{"error": {{"message": "top_p with {KEY}", "param": "top_p"}}}}'
    beyond.provider.refuses = (400, said.encode(), {})
    answer = await beyond.system.chat("far")
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "top_p with …"
    assert answer.json()["error"]["param"] == "top_p"
    assert len(beyond.provider.received) == 1


async def test_a_prompt_beyond_its_window_is_told_as_every_models(beyond: Beyond) -> None:
    said = b'{"error": {"message": "This model\'s maximum context length is 4096 tokens."}}'
    beyond.provider.refuses = (400, said, {})
    error = (await beyond.system.chat("far")).json()["error"]
    assert (error["code"], error["param"]) == ("context_length_exceeded", "messages")


@pytest.mark.parametrize("stream", [False, True])
async def test_too_many_requests_there_are_429_here_with_its_time(
    beyond: Beyond, stream: bool
) -> None:
    beyond.provider.refuses = (429, b"{}", {"retry-after": "7"})
    answers = [await beyond.system.chat("far", stream=stream) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [429, 503, 503]
    assert answers[0].json()["error"]["code"] == "queue_full"
    assert 5 <= int(answers[1].headers["retry-after"]) <= 7
    assert len(beyond.provider.received) == 1  # the breaker is open for as long as it said


async def test_too_many_requests_there_have_another_model_answer(beyond: Beyond) -> None:
    beyond.configure({"fallbacks": ["large"]})
    beyond.provider.refuses = (429, b"{}", {"retry-after": "60"})
    answers = [await beyond.system.chat("far") for _ in range(3)]
    assert [answer.headers["x-turnout-model"] for answer in answers] == ["large"] * 3
    assert len(beyond.provider.received) == 1


async def test_a_short_pause_is_waited_for(beyond: Beyond) -> None:
    beyond.provider.refuses = (429, b"{}", {"retry-after": "1"})
    configure_waiting(beyond, 5)
    asked = asyncio.create_task(beyond.system.chat("far"))
    await eventually(lambda: bool(beyond.provider.received))
    beyond.provider.refuses = None
    assert (await asked).status_code == 200
    assert len(beyond.provider.received) == 2


async def test_a_request_waits_no_longer_for_all_its_attempts_than_it_may(beyond: Beyond) -> None:
    configure_waiting(beyond, 1.5)
    beyond.provider.dies_after = 0
    for _ in range(2):
        began = time.monotonic()
        assert (await beyond.system.chat("far")).status_code == 503
        assert time.monotonic() - began < 2.5


def configure_waiting(beyond: Beyond, wait_s: float) -> None:
    settings = beyond.system.gateway._catalog.settings
    failover = settings.failover.model_copy(update={"wait_for_replica_s": wait_s})
    beyond.system.gateway.configure(
        settings.model_copy(update={"failover": failover}), lambda _text: 0.9
    )


async def test_a_dead_upstream_opens_its_breaker_and_its_fallback_answers_at_once(
    beyond: Beyond,
) -> None:
    beyond.configure({"fallbacks": ["large"]}, base_url="http://127.0.0.1:9/v1")
    began = time.monotonic()
    for _ in range(5):
        answer = await beyond.system.chat("far")
        assert (answer.status_code, answer.headers["x-turnout-model"]) == (200, "large")
    assert time.monotonic() - began < 2
    assert await beyond.system.metric("turnout_replica_failures_total", market="upstream") == 1


async def test_a_breaker_closes_again_when_the_upstream_is_back(beyond: Beyond) -> None:
    beyond.provider.dies_after = 0
    assert (await beyond.system.chat("far")).status_code == 503
    assert (await beyond.system.chat("far")).json()["error"]["message"].startswith("the upstream")
    beyond.provider.dies_after = None
    await asyncio.sleep(0.6)
    assert (await beyond.system.chat("far")).status_code == 200


async def test_a_stream_that_breaks_off_ends_with_an_error_and_is_not_asked_twice(
    beyond: Beyond,
) -> None:
    configure_waiting(beyond, 3)
    beyond.provider.dies_after = 3
    answer = await beyond.system.chat("far", stream=True)
    assert "replica_lost" in answer.text
    assert "Grüße" in answer.text
    assert len(beyond.provider.received) == 1


async def test_an_error_inside_a_stream_stays_here(beyond: Beyond) -> None:
    error = f'data: {{"error": {{"message": "{KEY}", "code": "quota"}}}}\n\n'.encode()
    beyond.provider.events = lambda path, body: [error]  # type: ignore[method-assign]
    answer = await beyond.system.chat("far", stream=True)
    assert KEY not in answer.text
    assert answer.status_code == 503


async def test_an_answer_that_is_none_has_another_model_answer(beyond: Beyond) -> None:
    beyond.configure({"fallbacks": ["large"]})
    for body in (b"<html>hello</html>", b'{"error": "no"}', b"[]"):
        beyond.provider.refuses = (200, body, {})
        assert (await beyond.system.chat("far")).headers["x-turnout-model"] == "large"


async def test_its_own_rate_is_kept_to_without_asking(beyond: Beyond) -> None:
    beyond.configure(requests_per_minute=2)
    answers = [await beyond.system.chat("far") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 0 < int(answers[2].headers["retry-after"]) <= 30
    assert len(beyond.provider.received) == 2
    beyond.configure({"fallbacks": ["large"]}, requests_per_minute=2)  # the rate goes on
    assert (await beyond.system.chat("far")).headers["x-turnout-model"] == "large"


async def test_its_rate_of_tokens_counts_what_is_asked_for(beyond: Beyond) -> None:
    beyond.configure(tokens_per_minute=500)
    assert (await beyond.system.chat("far", max_tokens=400)).status_code == 200
    assert (await beyond.system.chat("far", max_tokens=400)).status_code == 429
    assert (await beyond.system.chat("far", max_tokens=10)).status_code == 200


async def test_no_more_run_there_than_it_may_have(beyond: Beyond) -> None:
    beyond.configure(max_running=2)
    beyond.provider.delay_s = 0.1
    answers = await asyncio.gather(*(beyond.system.chat("far") for _ in range(6)))
    assert {answer.status_code for answer in answers} == {200}
    assert beyond.provider.most_running == 2


async def test_several_gateways_have_a_share_of_its_places(beyond: Beyond) -> None:
    beyond.system.gateway.share_replicas(lambda: 2)
    beyond.configure(max_running=4)
    beyond.provider.delay_s = 0.1
    await asyncio.gather(*(beyond.system.chat("far") for _ in range(6)))
    assert beyond.provider.most_running == 2


class OneTeam:
    """Everyone is of one team."""

    async def identify(self, headers: Any) -> Caller:
        return Caller("k", "search")


class OnlyHere:
    """Keys that may use small and large only."""

    async def identify(self, headers: Any) -> Caller:
        return Caller("k", "t", models=frozenset({"small", "large"}))


async def test_a_key_without_the_model_does_not_reach_it(beyond: Beyond) -> None:
    beyond.configure(models={"small": {"fallbacks": ["far"]}})
    beyond.system.govern(Governance(access=OnlyHere(), ledger=beyond.records))
    assert (await beyond.system.chat("far")).status_code == 404
    del beyond.system.table.by_model["small"]
    assert (await beyond.system.chat("small")).status_code == 503
    assert beyond.provider.received == []


@pytest.mark.parametrize("stream", [False, True])
async def test_an_upstream_stands_in_for_a_model_here(beyond: Beyond, stream: bool) -> None:
    beyond.configure(models={"small": {"fallbacks": ["far"]}})
    del beyond.system.table.by_model["small"]
    answer = await beyond.system.chat("small", stream=stream)
    assert answer.headers["x-turnout-model"] == "far"
    assert answer.headers["x-turnout-decision"] == "small cannot answer, far stands in"
    await eventually(lambda: bool(beyond.records.all))
    (record,) = beyond.records.all
    assert (record.model, record.market) == ("far", "upstream")
    assert record.list_cost_usd == pytest.approx(51e-6)


async def test_auto_picks_an_upstream_by_its_tier_only(beyond: Beyond) -> None:
    del beyond.system.table.by_model["large"]
    hard = [{"role": "user", "content": "hard"}]
    answer = await beyond.system.post({"model": "auto", "messages": hard})
    assert answer.headers["x-turnout-model"] == "small"
    beyond.configure({"tier": "large"})
    answer = await beyond.system.post({"model": "auto", "messages": hard})
    assert answer.headers["x-turnout-model"] == "far"
    # What the upstream does not know cannot go there.
    answer = await beyond.system.post({"model": "auto", "messages": hard, "top_k": 2})
    assert answer.headers["x-turnout-model"] == "small"


async def test_auto_without_any_model_to_pick_says_so(beyond: Beyond) -> None:
    class OnlyFar:
        async def identify(self, headers: Any) -> Caller:
            return Caller("k", "t", models=frozenset({"far"}))

    beyond.system.govern(Governance(access=OnlyFar()))
    answer = await beyond.system.chat("auto")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unsupported_capability")


async def test_nobody_here_knows_its_tokens(beyond: Beyond) -> None:
    answer = await beyond.system.post({"model": "far", "prompt": "a"}, "/tokenize")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unsupported_capability")
    long = [{"role": "user", "content": "easy " * 4000}]
    # Longer than the window by the cheap bound: the upstream has the last word.
    assert (await beyond.system.post({"model": "far", "messages": long})).status_code == 200


async def test_neither_key_nor_prompt_reaches_a_log_or_an_error(
    beyond: Beyond, caplog: pytest.LogCaptureFixture, small: FakeEngine
) -> None:
    caplog.set_level(logging.DEBUG)
    mark = "xyzzy-marker"
    said = {"model": "far", "messages": [{"role": "user", "content": mark}]}
    texts = []
    data = json.dumps({"error": {"message": f"{KEY} {mark}"}}).encode()
    for status in (200, 302, 400, 401, 429, 500):
        beyond.provider.refuses = (status, data, {"retry-after": "0", "location": f"/{KEY}"})
        for stream in (False, True):
            texts.append((await beyond.system.post({**said, "stream": stream})).text)
            await asyncio.sleep(0)
    beyond.provider.keys = {"another"}
    texts.append((await beyond.system.post(said)).text)
    ours = ("httpx", "httpcore", "asyncio")
    for record in caplog.records:
        if not record.name.startswith(ours):
            shown = f"{logging.Formatter().format(record)} {record.__dict__}"
            assert KEY not in shown
            assert mark not in shown
    assert not any(KEY in text for text in texts)
    assert small.received == []
