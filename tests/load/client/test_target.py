"""Targets: what is sent before every body, and what is refused."""

from pathlib import Path

import pytest

from turnout_load.client.target import origin, shown_url
from turnout_load.errors import BadData, BadOption
from turnout_load.spec import Target


def test_a_request_has_path_host_key_and_length() -> None:
    made = origin(Target(url="http://gateway:8000/v1/", model="m"), {"OPENAI_API_KEY": "sk-1"})
    lines = made.payload(b'{"a":1}').split(b"\r\n")
    assert lines[0] == b"POST /v1/chat/completions HTTP/1.1"
    assert {b"host: gateway:8000", b"authorization: Bearer sk-1"} <= set(lines)
    assert lines[-3:] == [b"content-length: 7", b"", b'{"a":1}']
    assert (made.host, made.port, made.is_tls) == ("gateway", 8000, False)


def test_an_https_target_has_its_own_port_and_certificates(tmp_path: Path) -> None:
    target = Target(url="https://api.example/v1", model="m", endpoint="completions")
    made = origin(target, {})
    assert (made.port, made.is_tls) == (443, True)
    assert made.tls() is not None
    assert b"authorization" not in made.head
    wrong = tmp_path / "ca.pem"
    wrong.write_text("no certificate")
    with pytest.raises(BadData, match=r"ca\.pem: not a file of certificates"):
        origin(Target(url="https://a/v1", model="m", ca_file=str(wrong)), {}).tls()


def test_the_key_may_come_from_a_file(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-file\n")
    target = Target(url="http://a/v1", model="m", api_key_file=str(key))
    assert b"authorization: Bearer sk-file\r\n" in origin(target, {"OPENAI_API_KEY": "other"}).head
    with pytest.raises(BadData, match="missing: no key can be read"):
        origin(Target(url="http://a/v1", model="m", api_key_file=str(tmp_path / "missing")), {})


@pytest.mark.parametrize(
    "url", ["", "localhost:8000/v1", "ftp://a/v1", "http:///v1", "http://a:x/"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadOption, match="--url"):
        origin(Target(url=url, model="m"), {})


def test_a_user_in_the_address_is_refused_without_the_password() -> None:
    with pytest.raises(BadOption, match="no user in it") as refused:
        origin(Target(url="http://me:p@ss@a/v1", model="m"), {})
    assert "p@ss" not in str(refused.value)


def test_an_address_is_shown_without_its_secrets() -> None:
    assert shown_url("https://a:8/v1?api-key=SECRET") == "https://a:8/v1"
    assert shown_url("http://me:p@ss@a:8/v1") == "http://a:8/v1"


def test_a_header_cannot_bring_a_second_line() -> None:
    target = Target(url="http://a/v1", model="m", headers={"X-Team": "a\r\nx-admin: yes"})
    with pytest.raises(BadOption, match="--header 'x-team'"):
        origin(target, {})
