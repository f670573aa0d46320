"""The parts of a page: sections, tables, figures. One file, no script, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources

from turnout_load.report.headline import Headline
from turnout_load.report.markup import Element, document, element
from turnout_load.report.table import Table

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Lets a browser load and run nothing, whatever a page may hold."""


def page(title: str, *parts: Element) -> str:
    """Returns a whole page."""
    style = resources.files("turnout_load.report").joinpath("report.css").read_text("utf-8")
    head = element(
        "head",
        None,
        element("meta", {"charset": "utf-8"}),
        element("meta", {"http-equiv": "Content-Security-Policy", "content": POLICY}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("title", None, title),
        element("style", None, style),
    )
    return document(element("html", {"lang": "en"}, head, element("body", None, *parts)))


def header(kind: str, title: str, told: Iterable[str], warnings: Iterable[str]) -> Element:
    """Returns the top of a page; warnings stand out."""
    notes = [element("p", {"class": "warning"}, each) for each in warnings]
    paragraphs = [element("p", None, each) for each in told]
    kind_of = element("p", {"class": "kind"}, kind)
    return element("header", None, kind_of, element("h1", None, title), *paragraphs, *notes)


def headlines(figures: Iterable[Headline]) -> Element:
    """Returns the figures that a page begins with."""
    cards = [
        element(
            "div",
            None,
            element("dt", None, each.name),
            element("dd", {"class": "value"}, each.value),
            element("dd", None, each.detail),
        )
        for each in figures
    ]
    return element("dl", {"class": "headlines"}, *cards)


def section(title: str, *parts: Element | None) -> Element:
    """Returns a section without the parts that are None."""
    shown = [part for part in parts if part is not None]
    return element("section", None, element("h2", None, title), *shown)


def beside(*parts: Element | None) -> Element:
    """Returns parts side by side where there is room."""
    return element("div", {"class": "beside"}, *(part for part in parts if part is not None))


def note(text: str) -> Element:
    """Returns a remark in small print."""
    return element("p", {"class": "remark"}, text)


def table(content: Table | None) -> Element | None:
    """Returns a table that scrolls sideways on a narrow screen, or None without rows."""
    if content is None or not content.rows:
        return None
    words = {0} | content.words | content.verbatim
    kinds = ["words" if place in words else "figure" for place in range(len(content.head))]
    head = [
        element("th", {"scope": "col", "class": kind}, name)
        for name, kind in zip(content.head, kinds, strict=True)
    ]
    rows = [_row(content, row, kinds) for row in content.rows]
    whole = element(
        "table",
        None,
        element("thead", None, element("tr", None, *head)),
        element("tbody", None, *rows),
    )
    return element("div", {"class": "scroll"}, whole)


def figure(title: str, picture: Element, keys: Sequence[tuple[str, str]] = ()) -> Element:
    """Returns a picture under its title; `keys` are classes and what each stands for."""
    marks = [
        element("span", {"class": "key"}, element("i", {"class": style}), label)
        for style, label in keys
    ]
    caption = element("figcaption", None, element("b", None, title), *marks)
    return element("figure", None, caption, element("div", {"class": "scroll"}, picture))


def folded(summary: str, content: Table) -> Element:
    """Returns a table that opens when one asks for it."""
    return element(
        "details",
        None,
        element("summary", None, summary),
        *(part for part in [table(content)] if part is not None),
    )


def _row(content: Table, row: Sequence[str], kinds: Sequence[str]) -> Element:
    cells = [
        element(
            "th" if place == 0 else "td",
            {"class": kind, **({"scope": "row"} if place == 0 else {})},
            element("code", None, cell) if place in content.verbatim else cell,
        )
        for place, (cell, kind) in enumerate(zip(row, kinds, strict=True))
    ]
    return element("tr", None, *cells)
