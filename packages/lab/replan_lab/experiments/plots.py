"""Plots as SVG text by matplotlib: curves with bands, and points with intervals.

Texts are not converted to paths, so the viewer's fonts are used. The same data give the same bytes with the same
release of matplotlib.
"""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#7b5ea7", "#b08900", "#3d5a6c", "#a23b72", "#4f772d", "#8d5b4c", "#5f6c7b")
DASHES = ("solid", "dashed", "dotted")
"""The dash patterns of lines. They distinguish lines even in black-and-white prints. The combinations of colour and
pattern repeat after thirty lines.
"""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MARKED = 12
"""If a line has at most this many points, each of its points has a marker. Otherwise none of its points has one."""

WIDTH, LEAST_HEIGHT, ROW, LETTER = 7.2, 3.8, 0.24, 0.08
"""Lengths in inches: the width of a plot with short names, its minimum height, the height of a row, the width of a
letter.
"""
SHORT = 20
"""The largest number of letters of a name that fits into a plot of the usual width, `WIDTH`."""
STYLE: Mapping[Any, object] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "replan",
    "font.family": ["sans-serif"],
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "text.parse_math": False,
}


@dataclass(frozen=True, slots=True)
class Point:
    """A measured value with its confidence interval."""

    value: float
    low: float
    """The lower bound of the interval; the estimate itself if there is no interval."""
    high: float
    """The upper bound of the interval; the estimate itself if there is no interval."""
    x: float = 0.0


def point_in(row: Mapping[str, object], name: str, x: str = "") -> Point:
    """Return the value of one column of a table row as a point, with its interval.

    `x` is the name of the column with the point's position; it is empty for a point without a position.
    """
    columns = (name, f"{name}_low", f"{name}_high", *([x] if x else []))
    return Point(*(float(str(row[column])) for column in columns))


def curves(
    title: str, lines: Mapping[str, Sequence[Point]], x_label: str, y_label: str, ticks: Sequence[float] = ()
) -> str:
    """Return a plot with one line per name, each with a band of its intervals; y is a share, from 0 to 1.

    If there are few points, they have markers. With `ticks`, the x axis is logarithmic and has only these ticks.
    """

    def draw(axes: "Axes") -> None:
        opacity = min(0.12, 1.2 / max(1, len(lines)))
        # The lengths of the two cycles have no common factor, so every combination comes once before the first again.
        styles = zip(cycle(COLOURS), cycle(DASHES), strict=False)
        for (name, points), (colour, dash) in zip(lines.items(), styles, strict=False):
            x = [point.x for point in points]
            low, high = [point.low for point in points], [point.high for point in points]
            axes.fill_between(x, low, high, color=colour, alpha=opacity, linewidth=0)
            middle = axes.plot(x, [point.value for point in points], ls=dash, color=colour, label=name)
            middle[0].set(marker="o" if len(points) <= MARKED else "", markersize=4)
        axes.set_ylim(0.0, 1.0)
        if ticks:
            axes.set_xscale("log")
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
            axes.set_xticks([], minor=True)
        axes.set_ylabel(y_label)

    return _svg(title, x_label, (_width(lines), max(LEAST_HEIGHT, ROW * (len(lines) + 3))), draw, listed=bool(lines))


def points(title: str, rows: Mapping[str, Point], x_label: str) -> str:
    """Return a plot with one point per name, each with its interval.

    An arrow marks an interval that ends outside the plot.
    """
    return groups(title, {name: {"": point} for name, point in rows.items()}, x_label)


def groups(title: str, rows: Mapping[str, Mapping[str, Point]], x_label: str) -> str:
    """Return a plot with one row per name. A row has one point with its interval for each series."""
    series = list(dict.fromkeys(name for row in rows.values() for name in row))
    every = [point for row in rows.values() for point in row.values()]
    x_max = max((min(point.high, 4 * abs(point.value) + 1) for point in every), default=1.0) or 1.0
    x_min = min((0.0, *(point.low for point in every)))
    height = 1.0 + ROW * max(1, len(rows)) * (1 + (len(series) - 1) / 2)

    def draw(axes: "Axes") -> None:
        places = range(len(rows))
        axes.axvline(0.0, color="#333333", linewidth=1)
        for number, (name, colour, marker) in enumerate(zip(series, cycle(COLOURS), cycle(MARKERS), strict=False)):
            # The points of a row lie below each other, over 0.7 of the row's height.
            shift = (number - (len(series) - 1) / 2) * 0.7 / max(1, len(series))
            shown = [
                (place + shift, row[name]) for place, row in zip(places, rows.values(), strict=True) if name in row
            ]
            y = [place for place, _ in shown]
            axes.hlines(y, [point.low for _, point in shown], [min(point.high, x_max) for _, point in shown], colour)
            axes.plot([point.value for _, point in shown], y, marker, ls="none", color=colour, label=name, markersize=5)
            for place, point in shown:
                if point.high > x_max:
                    axes.text(x_max, place, "\u2192", va="center")
        span = (x_max - x_min) or 1.0
        axes.set_xlim(x_min - 0.02 * span, x_max + 0.02 * span)
        axes.set_yticks(places, list(rows))
        axes.set_ylim(len(rows) - 0.4 if rows else 1.0, -0.6)
        axes.grid(visible=False, axis="y")

    size = (_width([*rows, *series]), max(height, 1.0 + ROW * len(series)))
    return _svg(title, x_label, size, draw, listed=len(series) > 1)


def _width(names: Iterable[str]) -> float:
    return WIDTH + LETTER * max(0, max(map(len, names), default=0) - SHORT)


def _svg(title: str, x_label: str, size: tuple[float, float], draw: "Callable[[Axes], None]", *, listed: bool) -> str:
    """Return a figure of one plot as an SVG element. With `listed`, a list of the series is beside the plot."""
    from matplotlib import rc_context  # noqa: PLC0415 -- slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415 -- slow to load

    with rc_context(dict(STYLE)):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        draw(axes)
        axes.set_xlabel(x_label)
        figure.suptitle(title, x=0.0, ha="left", fontsize=10, fontweight="bold")
        if listed:
            figure.legend(loc="outside right center")
        text = io.StringIO()
        left_out = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(text, format="svg", metadata={**left_out, "Title": title}, bbox_inches="tight")
    return text.getvalue()[text.getvalue().index("<svg") :]
