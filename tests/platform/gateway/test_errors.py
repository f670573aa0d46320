"""Errors have OpenAI's shape and travel between processes as Ray sends them."""

from __future__ import annotations

import pickle

import pytest

from turnout.gateway import errors
from turnout.gateway.errors import RequestError
from turnout.gateway.transport import AnswerBroken, ReplicaUnreachable
from turnout.limits.claim import Refusal

EVERY_ERROR: list[RequestError] = [
    errors.MalformedJson("p"),
    errors.InvalidField("messages[0].role", "p"),
    errors.UnknownField("f"),
    errors.ContextLengthExceeded("p", "prompt"),
    errors.NotCapable("p"),
    errors.MediaRefused("messages[0].content[1].image_url.url", "p"),
    errors.Unauthorized("p"),
    errors.Forbidden("usage"),
    errors.LimitReached(Refusal("tokens", "m", 1.5, {"x-ratelimit-limit-tokens": "9"})),
    errors.LimitReached(Refusal("budget", "m", 60)),
    errors.UnknownPath("GET", "/x"),
    errors.UnknownModel("m", ["a", "b"]),
    errors.MethodNotAllowed("GET", "/x", ["POST"]),
    errors.BodyTooSlow(0.5),
    errors.BodyTooLarge(9),
    errors.EngineRefused(418, "m", "invalid_request_error", "n"),
    errors.UsageNotKept(),
    errors.KeysUnavailable("p", 5),
    errors.UsageUnavailable("p", 5),
    errors.NoReadyReplica("p", 5),
    errors.ReplicaLost("p", 1),
    errors.DeadlineUnreachable("p", 2),
    errors.QueueFull("p", 2),
    errors.RequestTimedOut(0.5),
    errors.GatewayFault("req-1"),
]


def leaves(kind: type[RequestError]) -> set[type[RequestError]]:
    below = kind.__subclasses__()
    return set().union(*map(leaves, below)) if below else {kind}


def test_no_error_is_left_out_here() -> None:
    # Those of the admin API, where a test has imported it, are not the gateway's.
    ours = {kind for kind in leaves(RequestError) if kind.__module__.startswith("turnout.gateway")}
    assert {type(error) for error in EVERY_ERROR} == ours


@pytest.mark.parametrize("error", EVERY_ERROR, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling(error: RequestError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (copy.status, copy.body(), dict(copy.headers)) == (
        error.status,
        error.body(),
        dict(error.headers),
    )


@pytest.mark.parametrize("error", EVERY_ERROR, ids=lambda error: type(error).__name__)
def test_an_errors_status_matches_its_type(error: RequestError) -> None:
    kinds = {4: "invalid_request_error", 5: "server_error"}
    limits = {"requests", "tokens", "insufficient_quota"}
    assert error.type in (limits if error.status == 429 else {kinds[error.status // 100]})
    assert set(error.body()["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("kind", [AnswerBroken, ReplicaUnreachable])
def test_a_transports_errors_survive_pickling(kind: type[AnswerBroken]) -> None:
    copy = pickle.loads(pickle.dumps(kind("replica-1", "OSError")))
    assert (type(copy), copy.replica_id, copy.problem) == (kind, "replica-1", "OSError")


def test_headers_of_one_error_are_not_anothers() -> None:
    assert errors.NoReadyReplica("p", 5).headers == {"retry-after": "5"}
    assert not errors.MalformedJson("p").headers
    with pytest.raises(TypeError):
        RequestError.headers["x"] = "y"  # type: ignore[index]
