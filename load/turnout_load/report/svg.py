"""Charts as inline SVG: a frame with axes, and marks in the data's own units.

Colours and line styles are classes of the page's style sheet, for light, dark and print.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from turnout_load.report.markup import Element, element
from turnout_load.report.scale import Scale, tick_text

Point = tuple[float, float]
LEFT, RIGHT, TOP, BOTTOM = 52.0, 24.0, 32.0, 42.0
"""Margins around the data, in the unit of the view box (about a pixel)."""


def picture(title: str, description: str, size: Point, parts: Iterable[Element]) -> Element:
    """Returns an SVG that a screen reader announces by its title and description."""
    attributes = {
        "viewBox": f"0 0 {size[0]:g} {size[1]:g}",
        "role": "img",
        "aria-label": f"{title}. {description}",
    }
    head = (element("title", None, title), element("desc", None, description))
    return element("svg", attributes, *head, *parts)


def text(at: Point, content: str, name: str = "") -> Element:
    """Returns a text at a point; `name` is its class, which also says how it is aligned."""
    return element("text", {"x": at[0], "y": at[1], "class": name}, content)


def line(begin: Point, end: Point, name: str) -> Element:
    """Returns a straight line."""
    ends = {"x1": begin[0], "y1": begin[1], "x2": end[0], "y2": end[1]}
    return element("line", {**ends, "class": name})


def rectangle(corner: Point, size: Point, name: str, told: str = "") -> Element:
    """Returns a rectangle from its upper left corner; `told` is shown where one points at it."""
    place = {"x": corner[0], "y": corner[1], "width": size[0], "height": size[1]}
    return element(
        "rect", {**place, "class": name}, *([element("title", None, told)] if told else [])
    )


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart's frame: two axes, and where they lie."""

    x: Scale
    y: Scale
    x_label: str
    y_label: str
    width: float = 380.0
    height: float = 266.0

    def at(self, point: Point) -> Point:
        """Returns where a point of the data lies in the picture."""
        across, up = self.x.share(point[0]), self.y.share(point[1])
        return (
            LEFT + across * (self.width - LEFT - RIGHT),
            self.height - BOTTOM - up * (self.height - TOP - BOTTOM),
        )

    def draw(self, title: str, description: str, marks: Iterable[Element]) -> Element:
        """Returns the picture: grid, axes, then the marks above them."""
        parts = (*self._x_axis(), *self._y_axis(), *marks)
        return picture(title, description, (self.width, self.height), parts)

    def line(self, points: Iterable[Point], name: str) -> Element:
        """Returns a line through points."""
        return element("polyline", {"points": self._path(points), "class": f"line {name}"})

    def lines(self, points: Iterable[tuple[float, float | None]], name: str) -> list[Element]:
        """Returns a line that is broken where a value is missing."""
        runs: list[list[Point]] = [[]]
        for x, y in points:
            if y is not None:
                runs[-1].append((x, y))
            elif runs[-1]:
                runs.append([])
        return [self._run(run, name) for run in runs if run]

    def dots(self, points: Iterable[Point], name: str) -> list[Element]:
        """Returns a dot at each point."""
        places = map(self.at, points)
        return [element("circle", {"cx": x, "cy": y, "r": 3.5, "class": name}) for x, y in places]

    def band(self, begin: float, end: float, label: str) -> list[Element]:
        """Returns a shaded stretch of the x axis with its name."""
        left, top = self.at((begin, self.y.high))
        right, bottom = self.at((end, self.y.low))
        area = rectangle((left, top), (right - left, bottom - top), "band")
        return [area, text((left + 4, top + 12), label, "note")]

    def upright(self, x: float, label: str) -> list[Element]:
        """Returns a vertical line with its name above it, to the side where there is room."""
        across, top = self.at((x, self.y.high))
        is_left = self.x.share(x) > 0.6
        return [
            line((across, top), (across, self.height - BOTTOM), "mark"),
            text((across, top - 5), label, "end note" if is_left else "note"),
        ]

    def _run(self, run: Sequence[Point], name: str) -> Element:
        return self.line(run, name) if len(run) > 1 else self.dots(run, f"dot {name}")[0]

    def _path(self, points: Iterable[Point]) -> str:
        return " ".join(f"{x:.2f},{y:.2f}" for x, y in map(self.at, points))

    def _x_axis(self) -> list[Element]:
        parts = []
        for tick in self.x.ticks:
            x, bottom = self.at((tick, self.y.low))
            parts += [
                line((x, TOP), (x, bottom), "grid"),
                text((x, bottom + 16), tick_text(tick), "middle tick"),
            ]
        middle = (LEFT + (self.width - LEFT - RIGHT) / 2, self.height - 8)
        return [*parts, text(middle, self.x_label, "middle label")]

    def _y_axis(self) -> list[Element]:
        parts = []
        for tick in self.y.ticks:
            left, y = self.at((self.x.low, tick))
            parts.append(line((left, y), (self.width - RIGHT, y), "grid"))
            parts.append(text((left - 6, y + 4), tick_text(tick), "end tick"))
        base = line(self.at((self.x.low, self.y.low)), self.at((self.x.high, self.y.low)), "axis")
        return [*parts, base, text((4, 12), self.y_label, "label")]
