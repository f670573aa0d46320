"""Elements of HTML and SVG: built as a tree, so that no text can ever become markup."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

Element = ElementTree.Element
Attributes = Mapping[str, str | float]


def element(tag: str, attributes: Attributes | None = None, *children: Element | str) -> Element:
    """Returns an element; numbers become short decimals, and texts are escaped when written."""
    made = Element(tag, {name: _value(value) for name, value in (attributes or {}).items()})
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + child
        else:
            made.text = (made.text or "") + child
    return made


def document(root: Element) -> str:
    """Writes a whole HTML page; what is no text, such as half a surrogate pair, becomes `?`."""
    page = ElementTree.tostring(root, encoding="unicode", method="html")
    return "<!doctype html>\n" + page.encode("utf-8", "replace").decode() + "\n"


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
