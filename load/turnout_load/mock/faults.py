"""Misbehaviour on demand: the request's model names it, such as `mock:cut`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate, cycle, pairwise, takewhile

from turnout_load.mock.answer import (
    DONE,
    MS,
    Beat,
    Request,
    answer,
    beats,
    event,
    in_chunk,
    role_event,
    stream,
    stream_head,
    whole_body,
    whole_ns,
)
from turnout_load.mock.script import End, Script, Step, chunk, whole
from turnout_load.mock.settings import MockSettings

PREFIX = "mock:"
GOOD_CHUNKS = 3
"""Chunks with content before a stream goes wrong."""
PIECE_SIZES = (1, 2, 3, 5, 7, 11, 64)
MULTI_BYTE = "\N{STEAM LOCOMOTIVE}列車é"

Fault = Callable[[Request, MockSettings], Script]


def refusal(status: int, message: str, *headers: str) -> Script:
    """Returns an error as OpenAI's API tells it."""
    body = b'{"error":{"message":"%b","type":"mock_error","code":%d}}' % (message.encode(), status)
    return Script((Step(0, whole(status, body, *headers)),))


def faulty_answer(request: Request, settings: MockSettings) -> Script:
    """Returns the script of the misbehaviour that the model names; a status is one too."""
    name = request.ask.model.removeprefix(PREFIX)
    if name in FAULTS:
        return FAULTS[name](request, settings)
    if name.isdecimal() and 400 <= int(name) <= 599:
        headers = ("retry-after: 1",) if name in {"429", "503"} else ()
        return refusal(int(name), f"as the model's name asks: {name}", *request.headers, *headers)
    return refusal(404, f"a model is {PREFIX} and a status or one of: {', '.join(FAULTS)}")


def stall(request: Request, settings: MockSettings) -> Script:
    """Stops after some chunks, or in the middle of a whole answer; the connection stays open."""
    return _broken(request, settings, b"", End.HANG)


def cut(request: Request, settings: MockSettings) -> Script:
    """Closes the connection in the middle of a chunk, or of a whole answer."""
    return _broken(request, settings, chunk(event({"id": request.id}))[:12], End.CLOSE)


def _broken(request: Request, settings: MockSettings, last: bytes, end: End) -> Script:
    if not request.ask.stream:
        data = whole(200, whole_body(request, settings), *request.headers)
        step = Step(whole_ns(request.ask, settings), data[: len(data) * 2 // 3])
        return Script((step,), end)
    good = _good_beats(request, settings)
    steps = (Step(0, stream_head(request)), *(in_chunk(beat) for beat in good))
    return Script((*steps, Step(_after(good, settings), last)), end, is_stream=True)


def _good_beats(request: Request, settings: MockSettings) -> list[Beat]:
    """Returns what is said before a stream goes wrong: never its `[DONE]`."""
    good = beats(request, settings)[:GOOD_CHUNKS]
    good[-1] = good[-1]._replace(events=good[-1].events.removesuffix(DONE))
    return good


def _after(good: list[Beat], settings: MockSettings) -> int:
    return good[-1].offset_ns + round(settings.itl_ms * MS)


def half_json(request: Request, settings: MockSettings) -> Script:
    """Sends an event whose JSON breaks off, and goes on; a whole answer breaks off itself."""
    if not request.ask.stream:
        body = whole_body(request, settings)
        data = whole(200, body[: len(body) // 2], *request.headers)
        return Script((Step(whole_ns(request.ask, settings), data),))
    said = beats(request, settings)
    said[-1] = said[-1]._replace(events=b'data: {"id":"mock","choi\n\n' + said[-1].events)
    return stream(request, said)


def error_event(request: Request, settings: MockSettings) -> Script:
    """Tells an error within the stream, after some chunks, and ends it properly."""
    error = {"error": {"message": "the engine died", "type": "server_error", "code": 500}}
    if not request.ask.stream:
        data = whole(200, event(error).removeprefix(b"data: "), *request.headers)
        return Script((Step(whole_ns(request.ask, settings), data),))
    good = _good_beats(request, settings)
    bad = Beat(_after(good, settings), event(error) + DONE, has_content=False)
    return stream(request, [*good, bad])


def no_done(request: Request, settings: MockSettings) -> Script:
    """Ends a stream without `[DONE]`, else properly."""
    if not request.ask.stream:
        return answer(request, settings)
    said = beats(request, settings)
    said[-1] = said[-1]._replace(events=said[-1].events.removesuffix(DONE))
    return stream(request, said)


def not_sse(request: Request, settings: MockSettings) -> Script:
    """Answers 200 with a web page, as a proxy's login form does."""
    page = b"<!doctype html><title>Sign in</title><p>data: [DONE]</p>"
    data = whole(200, page, *request.headers, content_type="text/html")
    return Script((Step(round(settings.ttft_ms * MS), data),))


def empty(request: Request, settings: MockSettings) -> Script:
    """Answers 200 and nothing else."""
    kind = "text/event-stream" if request.ask.stream else "application/json"
    data = whole(200, b"", *request.headers, content_type=kind)
    return Script((Step(round(settings.ttft_ms * MS), data),))


def early_role(request: Request, settings: MockSettings) -> Script:
    """Names the role at once, long before the first token: honest, and often read wrongly."""
    if not request.ask.stream:
        return answer(request, settings)
    role = Beat(0, role_event(request), has_content=False)
    return stream(request, [role, *beats(request, settings)])


def slow_headers(request: Request, settings: MockSettings) -> Script:
    """Sends half of the headers at once and the rest with the first content."""
    script = answer(request, settings)
    first, *rest = script.steps
    if rest:
        first, *rest = rest[0]._replace(data=first.data + rest[0].data), *rest[1:]
    middle = first.data.index(b"\r\n\r\n") // 2
    late = first._replace(data=first.data[middle:])
    return script._replace(steps=(Step(0, first.data[:middle]), late, *rest))


def refuse_keepalive(request: Request, settings: MockSettings) -> Script:
    """Answers properly, says `connection: close`, and closes."""
    told = request._replace(headers=(*request.headers, "connection: close"))
    return answer(told, settings)._replace(end=End.CLOSE)


def split(request: Request, settings: MockSettings) -> Script:
    """Sends a valid stream in a form that only a careful reader takes.

    CRLF line ends, comments, data of several lines (all from the WHATWG's "Server-sent events"),
    multi-byte characters, events over several chunks, and TCP writes that end anywhere.
    """
    if not request.ask.stream:
        return answer(request, settings)
    said = [_in_careful_form(beat) for beat in beats(request, settings)]
    steps = [Step(0, stream_head(request))]
    for beat in said:
        steps += _pieces(beat, round(settings.itl_ms * MS))
    steps.append(Step(steps[-1].offset_ns, chunk(b"")))
    return Script(tuple(steps), is_stream=True)


def _in_careful_form(beat: Beat) -> Beat:
    text = beat.events
    for field in (b'"content":"', b'"text":"'):
        text = text.replace(field + b" ", field + MULTI_BYTE.encode() + b" ")
    text = text.replace(b',"choices":', b',\ndata: "choices":').replace(b"\n", b"\r\n")
    return beat._replace(events=b": a comment\r\n\r\n" + text)


def _pieces(beat: Beat, within_ns: int) -> list[Step]:
    """Returns a beat's events in two chunks, cut into writes that are spread over half an ITL."""
    middle = beat.events.index(MULTI_BYTE.encode()) + 1 if beat.has_content else 1
    data = chunk(beat.events[:middle]) + chunk(beat.events[middle:])
    ends = list(takewhile(lambda end: end < len(data), accumulate(cycle(PIECE_SIZES))))
    pause_ns = within_ns // (2 * (len(ends) + 1))
    bounds = pairwise((0, *ends, len(data)))
    return [
        Step(beat.offset_ns + number * pause_ns, data[start:end], end == len(data))
        for number, (start, end) in enumerate(bounds)
    ]


FAULTS: Mapping[str, Fault] = {
    "stall": stall,
    "cut": cut,
    "half-json": half_json,
    "error-event": error_event,
    "no-done": no_done,
    "not-sse": not_sse,
    "empty": empty,
    "early-role": early_role,
    "slow-headers": slow_headers,
    "refuse-keepalive": refuse_keepalive,
    "split": split,
}
