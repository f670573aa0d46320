from xml.etree import ElementTree

import pytest

from turnout_load.report.markup import document, element
from turnout_load.report.scale import linear
from turnout_load.report.svg import Plot, rectangle

PLOT = Plot(linear(0, 10), linear(0, 100), "x, s", "y, ms", width=476, height=274)
# its margins leave 400 by 200, from (52, 232) at the lower left


def test_points_are_placed_between_the_axes() -> None:
    assert PLOT.at((0, 0)) == (52, 232)
    assert PLOT.at((10, 100)) == (452, 32)
    assert PLOT.at((2.5, 50)) == (152, 132)


def test_a_line_goes_through_its_points() -> None:
    line = PLOT.line([(0, 0), (5, 100), (10, 25)], "one")
    assert line.get("points") == "52.00,232.00 252.00,32.00 452.00,182.00"


def test_a_line_breaks_where_nothing_was_measured() -> None:
    marks = PLOT.lines([(0, 0), (1, 10), (2, None), (3, None), (4, 10), (5, 0)], "one")
    assert [mark.get("points") for mark in marks] == [
        "52.00,232.00 92.00,212.00",
        "212.00,212.00 252.00,232.00",
    ]


def test_a_lone_point_is_a_dot() -> None:
    (dot,) = PLOT.lines([(0, None), (5, 50), (6, None)], "one")
    assert (dot.tag, dot.get("cx"), dot.get("cy")) == ("circle", "252", "132")


def test_a_picture_says_what_it_shows() -> None:
    picture = PLOT.draw("Title", "What it shows.", [])
    assert picture.get("role") == "img"
    assert picture.findtext("title") == "Title"
    assert picture.findtext("desc") == "What it shows."


def test_axes_have_their_units_and_ticks() -> None:
    texts = [each.text for each in PLOT.draw("", "", []).iter("text")]
    assert texts[:6] == ["0", "2", "4", "6", "8", "10"]
    assert {"x, s", "y, ms"} <= set(texts)


@pytest.mark.parametrize(("x", "side"), [(2, "note"), (9, "end note")])
def test_a_marks_name_stands_where_there_is_room(x: float, side: str) -> None:
    line, name = PLOT.upright(x, "knee")
    assert float(line.get("x1", "")) == 52 + x * 40
    assert name.get("class") == side


def test_text_is_never_markup() -> None:
    hostile = '<script>alert("1")</script> & \'"><img src=x>'
    part = rectangle((0, 0), (1, 1), hostile, hostile)
    again = ElementTree.fromstring(ElementTree.tostring(part, encoding="unicode"))
    assert again.get("class") == hostile
    assert again.findtext("title") == hostile
    assert len(again) == 1


def test_text_after_an_element_keeps_its_place() -> None:
    page = document(element("p", None, "a ", element("b", None, "b"), " c", " d"))
    assert page == "<!doctype html>\n<p>a <b>b</b> c d</p>\n"


def test_what_is_no_text_can_still_be_written() -> None:
    assert b"<p>" in document(element("p", None, "\ud800")).encode("utf-8")
