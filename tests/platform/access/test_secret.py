from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.access.secret import hashed, id_of, new_key, presented, proves

KEY = "sk-0123456789abcdef-" + "a1" * 32


def test_a_new_key_carries_its_id_and_256_bits_of_secret() -> None:
    key_id, key = new_key()
    prefix, found, secret = key.split("-")
    assert (prefix, found) == ("sk", key_id)
    assert len(bytes.fromhex(secret)) * 8 == 256


def test_new_keys_differ_in_id_and_secret() -> None:
    made = [new_key() for _ in range(100)]
    assert len({key_id for key_id, _ in made}) == 100
    assert len({key.split("-")[2] for _, key in made}) == 100


def test_what_is_stored_is_the_sha256_of_the_whole_key() -> None:
    assert hashed(KEY) == hashlib.sha256(KEY.encode("ascii")).hexdigest()


def test_a_keys_id_is_read_from_it() -> None:
    assert id_of(KEY) == "0123456789abcdef"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sk-",
        KEY + "0",
        KEY[:-1],
        KEY + "\n",
        " " + KEY,
        KEY.upper(),
        KEY.replace("sk-", "pk-"),
        KEY.replace("0123", "٠١٢٣"),
        "sk-proj-abcdefghijklmnopqrstuvwxyz",
    ],
)
def test_any_other_text_is_no_key(text: str) -> None:
    assert id_of(text) is None


@given(st.text())
def test_no_text_breaks_reading_a_key(text: str) -> None:
    assert id_of(text) is None
    assert not proves(text, None)


def test_only_the_whole_key_proves_itself() -> None:
    stored = hashed(KEY)
    assert proves(KEY, stored)
    assert not proves(KEY[:-1] + "2", stored)
    assert not proves(KEY, None)


def test_openais_clients_send_a_bearer_token() -> None:
    assert presented({b"authorization": b"Bearer " + KEY.encode()}) == KEY


def test_the_scheme_may_have_any_case_and_spaces_around_the_key_are_dropped() -> None:
    assert presented({b"authorization": b"bearer  " + KEY.encode() + b" "}) == KEY


def test_anthropics_clients_send_x_api_key() -> None:
    assert presented({b"x-api-key": KEY.encode()}) == KEY


def test_another_scheme_does_not_hide_x_api_key() -> None:
    assert presented({b"authorization": b"Basic dTpw", b"x-api-key": KEY.encode()}) == KEY


@pytest.mark.parametrize("headers", [{}, {b"authorization": b"Bearer "}, {b"x-api-key": b""}])
def test_a_request_without_a_key_presents_none(headers: dict[bytes, bytes]) -> None:
    assert presented(headers) is None


@given(st.binary())
def test_no_header_breaks_reading_it(value: bytes) -> None:
    found = presented({b"authorization": b"Bearer " + value, b"x-api-key": value})
    assert found is None or found.encode("latin-1") in value


def test_a_header_of_any_length_costs_no_more_than_a_short_one() -> None:
    assert len(presented({b"x-api-key": b"k" * 100_000}) or "") < 1000
