"""Stop strings are found as vLLM finds them, however the text is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.gateway.resume.stop import StopScanner


def scanned(pieces: list[str], stops: list[str], *, keeps: bool = False) -> tuple[str, str | None]:
    scanner = StopScanner(stops, keeps_stop=keeps)
    out = ""
    for piece in pieces:
        out += scanner.feed(piece)
        if scanner.matched is not None:
            return out, scanner.matched
    return out + scanner.flush(), None


@pytest.mark.parametrize(
    ("pieces", "stops", "keeps", "expected"),
    [
        (["one ", "two"], ["END"], False, ("one two", None)),
        (["one E", "N", "D two"], ["END"], False, ("one ", "END")),
        (["one E", "N", "D two"], ["END"], True, ("one END", "END")),
        (["aab"], ["b", "ab"], False, ("aa", "b")),
        (["aab"], ["ab", "b"], False, ("a", "ab")),
        (["x世", "界y"], ["世界"], False, ("x", "世界")),
        (["EN", "EN", "D"], ["END"], False, ("EN", "END")),
        (["all"], [], False, ("all", None)),
        (["all"], [""], False, ("all", None)),
        (["a.b"], ["."], False, ("a", ".")),
    ],
)
def test_the_answer_ends_where_the_first_complete_stop_string_says(
    pieces: list[str], stops: list[str], keeps: bool, expected: tuple[str, str | None]
) -> None:
    assert scanned(pieces, stops, keeps=keeps) == expected


@given(st.lists(st.text("abEND ", max_size=4), max_size=12), st.booleans())
def test_pieces_do_not_matter(pieces: list[str], keeps: bool) -> None:
    stops = ["END", "Da"]
    letters = list("".join(pieces))
    assert scanned(pieces, stops, keeps=keeps) == scanned(letters, stops, keeps=keeps)


def test_nothing_is_sent_that_a_stop_string_may_begin_with() -> None:
    scanner = StopScanner(["END"], keeps_stop=False)
    assert scanner.feed("abE") == "a"
    assert scanner.pending == "bE"


def test_a_stop_string_that_began_before_the_seam_is_found() -> None:
    held = StopScanner(["END"], keeps_stop=False, sent="some ", held="EN")
    assert (held.feed("D more"), held.matched) == ("", "END")
    kept = StopScanner(["END"], keeps_stop=True, sent="some EN")
    assert (kept.feed("D more"), kept.matched) == ("D", "END")


def test_what_was_searched_before_the_seam_is_not_found_again() -> None:
    """With min_tokens an engine lets an early stop string pass."""
    scanner = StopScanner(["END"], keeps_stop=True, sent="END")
    assert (scanner.feed(" more"), scanner.matched) == (" more", None)
