"""Engines fetch media only from hosts that the operator lists; data in the body is always taken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.platform.gateway.system import CHAT

from turnout.gateway.errors import MediaRefused
from turnout.gateway.media import check_media

if TYPE_CHECKING:
    from tests.platform.gateway.fake_engine import FakeEngine
    from tests.platform.gateway.system import System

HOSTS = ("images.example.com", "8.8.8.8")
DATA = "data:image/png;base64,iVBORw0KGgo="


def fields(*parts: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(parts)}]}


def image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


@pytest.mark.parametrize("hosts", [(), HOSTS])
@pytest.mark.parametrize(
    "part",
    [
        image(DATA),
        image("DATA:image/png;base64,AA=="),
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        {"type": "text", "text": "see http://127.0.0.1/"},
    ],
)
def test_data_and_text_are_taken(part: Any, hosts: tuple[str, ...]) -> None:
    check_media(fields(part), hosts)


@pytest.mark.parametrize(
    "url",
    [
        "https://images.example.com/a.png",
        "http://images.example.com:8080/a?b=c#d",
        "HTTPS://Images.Example.com",
        "https://8.8.8.8/a.png",
    ],
)
def test_urls_of_listed_hosts_are_taken(url: str) -> None:
    check_media(fields(image(url)), HOSTS)
    with pytest.raises(MediaRefused, match="data: URLs only"):
        check_media(fields(image(url)), ())


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost:8001/",
        "http://10.0.0.1/",
        "https://images.example.com.evil.example/",
        "https://evil.example/images.example.com",
        "https://evil.example#images.example.com",
        "https://images.example.com@evil.example/",
        "https://evil.example@images.example.com/",
        "https://evil.example\\@images.example.com/",
        "https://images.example.com\\@evil.example/",
        "https://images.example.com\\.evil.example/",
        "https://images.example.com:80@evil.example/",
        "https://images.example.com:99999999/",
        "https://images.example.com.",
        "https://images.example.com%2eevil.example/",
        "https://ima\u0261es.example.com/",
        "https://images.example.com /",
        " https://images.example.com/",
        "https://images.example.com/\n",
        "https://images.example.com/a\r\nhost: x",
        "https:images.example.com/",
        "https:///images.example.com/",
        "//images.example.com/",
        "/etc/passwd",
        "file:///etc/passwd",
        "file://images.example.com/etc/passwd",
        "ftp://images.example.com/",
        "gopher://images.example.com/",
        "",
    ],
)
def test_any_other_url_is_refused(url: str) -> None:
    for hosts in ((), HOSTS):
        with pytest.raises(MediaRefused) as refused:
            check_media(fields({"type": "text", "text": "a"}, image(url)), hosts)
        assert refused.value.param == "messages[0].content[1].image_url.url"
        assert "127.0.0.1" not in str(refused.value)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": "http://10.0.0.1/"},
        {"image_url": "http://10.0.0.1/"},
        {"type": "text", "text": "a", "image_url": {"url": "http://10.0.0.1/"}},
        {"type": "input_image", "image_url": "http://10.0.0.1/"},
        {"type": "audio_url", "audio_url": {"url": "http://10.0.0.1/"}},
        {"type": "video_url", "video_url": {"url": "http://10.0.0.1/", "uuid": "1"}},
        {"type": "file", "file": {"file_url": "http://10.0.0.1/"}},
        {"type": "x", "y": [{"z": {"url": "http://10.0.0.1/"}}]},
    ],
)
def test_a_url_is_found_wherever_a_part_holds_it(part: Any) -> None:
    with pytest.raises(MediaRefused):
        check_media(fields(part), HOSTS)


MESSAGES_IMAGE = {"type": "image", "source": {"type": "url", "url": "http://10.0.0.1/a.png"}}
ASKED: dict[str, dict[str, Any]] = {
    CHAT: fields(image("http://10.0.0.1/a.png")),
    "/tokenize": fields(image("http://10.0.0.1/a.png")),
    "/v1/messages": {**fields(MESSAGES_IMAGE), "max_tokens": 3},
    "/v1/messages/count_tokens": fields(MESSAGES_IMAGE),
    "/v1/responses": {
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_image", "image_url": "http://10.0.0.1/a.png"}],
            }
        ]
    },
}


@pytest.mark.parametrize("path", ASKED)
async def test_no_engine_sees_a_refused_url(system: System, small: FakeEngine, path: str) -> None:
    answer = await system.post({"model": "small", **ASKED[path]}, path)
    assert answer.status_code == 400
    assert "data: URLs only" in answer.json()["error"]["message"]
    assert small.received == []


async def test_settings_say_which_hosts_are_allowed(system: System, small: FakeEngine) -> None:
    system.configure(media_hosts=["10.example.com"])
    body = {"model": "small", **fields(image("https://10.example.com/a.png"))}
    assert (await system.post(body)).status_code == 200
    assert json.loads(small.received[0][1])["messages"] == body["messages"]
