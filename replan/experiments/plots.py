"""Plots as SVG text: curves with bands, and points with intervals. The same data give the same bytes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#7b5ea7", "#b08900", "#3d5a6c", "#a23b72", "#4f772d", "#8d5b4c", "#5f6c7b")
DASHES = ("none", "7 3", "2 2")
"""The dash patterns of lines, for grey prints. The combination of colour and dash repeats after thirty lines."""
POINT_COLOUR = COLOURS[0]
"""The colour of all points; their rows have names."""

PLOT_WIDTH, LEFT, RIGHT, TOP, BOTTOM = 470, 60, 30, 48, 46
"""The width of the plot area, and the margins around it, in pixels; the width of the names is added."""
ROW, GAP, LEADER = 22, 14, 26
"""The height of a row of points and of a line's name, and the width of the leader from a line to its name."""
LETTER = 7
"""Pixels per letter; more than the mean width in DejaVu Sans at 12 pixels."""


@dataclass(frozen=True, slots=True)
class Point:
    """A measured value with its confidence interval."""

    value: float
    """The estimate, such as a share or a mean."""
    low: float
    """The lower bound of the interval."""
    high: float
    """The upper bound of the interval."""
    x: float = 0.0
    """The position on the x axis of a curve."""


def curves(title: str, lines: Mapping[str, Sequence[Point]], x_label: str, y_label: str) -> str:
    """Return a plot with one line per name, each with a band of its intervals; y is a share, from 0 to 1."""
    height = max(360, TOP + BOTTOM + GAP * len(lines))
    most = max((point.x for points in lines.values() for point in points), default=1.0)
    x_scale = _Scale(0.0, most, LEFT, LEFT + PLOT_WIDTH)
    y_scale = _Scale(0.0, 1.0, height - BOTTOM, TOP)
    body = [*_frame(title, height, x_scale, y_scale, (x_label, y_label))]
    ends, bands, polylines = [], [], []
    opacity = min(0.12, 1.2 / max(1, len(lines)))
    for place, (name, points) in enumerate(lines.items()):
        colour, dash = COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)]
        band = [(point.x, point.low) for point in points] + [(point.x, point.high) for point in reversed(points)]
        bands.append(
            f'<polygon points="{_path(band, x_scale, y_scale)}" fill="{colour}" fill-opacity="{opacity:.2f}"/>'
        )
        middle = _path([(point.x, point.value) for point in points], x_scale, y_scale)
        stroke = f'fill="none" stroke="{colour}" stroke-dasharray="{dash}"'
        polylines.append(f'<polyline points="{middle}" {stroke} stroke-width="2"/>')
        if points:
            ends.append((x_scale.at(points[-1].x), y_scale.at(points[-1].value), name, stroke))
    body += (*bands, *polylines, *_names(ends, LEFT + PLOT_WIDTH + LEADER, height - BOTTOM))
    return _svg(LEFT + max(PLOT_WIDTH + LEADER + _text_width(lines), _text_width([title])), height, title, body)


def points(title: str, rows: Mapping[str, Point], x_label: str) -> str:
    """Return a plot with one point per name, each with its interval; an arrow marks an interval that is cut off."""
    height = TOP + BOTTOM + ROW * max(1, len(rows))
    left = _text_width(rows)
    most = max((min(point.high, 4 * point.value + 1) for point in rows.values()), default=1.0) or 1.0
    least = min((0.0, *(point.low for point in rows.values())))
    x_scale = _Scale(least, most, left, left + PLOT_WIDTH)
    body = [_text(left, 18, title, weight="bold"), *_axis(x_scale, height, x_label)]
    body.append(_line((x_scale.at(0.0), TOP), (x_scale.at(0.0), height - BOTTOM), "#333"))
    for place, (name, point) in enumerate(rows.items()):
        y = TOP + ROW * place + ROW / 2
        body.append(_text(left - 10, y + 4, name, anchor="end"))
        body.append(_line((x_scale.at(point.low), y), (x_scale.at(min(point.high, most)), y), POINT_COLOUR, 2))
        body.append(f'<circle cx="{_number(x_scale.at(point.value))}" cy="{_number(y)}" r="4" fill="{POINT_COLOUR}"/>')
        if point.high > most:
            body.append(_text(left + PLOT_WIDTH, y + 4, "\u2192"))
    return _svg(left + max(PLOT_WIDTH + RIGHT, _text_width([title])), height, title, body)


def _text_width(texts: Iterable[str]) -> int:
    """Return an upper bound of the width of the longest text, in pixels."""
    return 20 + LETTER * max(map(len, texts), default=0)


@dataclass(frozen=True, slots=True)
class _Scale:
    """A linear scale from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel position of a value."""
        span = self.high - self.low or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return about five round values."""
        span = self.high - self.low or 1.0
        sizes = [base * 10.0**power for power in range(-4, 7) for base in (1, 2, 5)]
        size = next((size for size in sizes if span / size <= 6), span)
        first = int(self.low // size)
        return [round(n * size, 6) for n in range(first, first + 10) if self.low <= n * size <= self.high + 1e-9]


def _frame(title: str, height: int, x_scale: _Scale, y_scale: _Scale, labels: tuple[str, str]) -> Iterator[str]:
    yield _text(LEFT, 18, title, weight="bold")
    yield from _axis(x_scale, height, labels[0])
    for tick in y_scale.ticks():
        yield _line((LEFT, y_scale.at(tick)), (LEFT + PLOT_WIDTH, y_scale.at(tick)), "#ddd")
        yield _text(LEFT - 8, y_scale.at(tick) + 4, f"{tick:g}", anchor="end")
    yield _text(LEFT, TOP - 10, labels[1])


def _axis(x_scale: _Scale, height: int, label: str) -> Iterator[str]:
    bottom = height - BOTTOM
    for tick in x_scale.ticks():
        yield _line((x_scale.at(tick), TOP), (x_scale.at(tick), bottom), "#ddd")
        yield _text(x_scale.at(tick), bottom + 16, f"{tick:g}", anchor="middle")
    yield _line((x_scale.start, bottom), (x_scale.end, bottom), "#333")
    yield _text((x_scale.start + x_scale.end) / 2, bottom + 34, label, anchor="middle")


def _names(ends: list[tuple[float, float, str, str]], x: float, lowest: float) -> Iterator[str]:
    """Yield the names of lines, moved apart so that they do not overlap, each with a leader from its line's end.

    `ends` are (x, y, name, stroke) of each line's end; `x` is the left edge of the names, `lowest` the last baseline.
    """
    ends = sorted(ends, key=lambda end: end[1])
    positions: list[float] = []
    for _, end_y, _, _ in ends:
        positions.append(max(end_y, positions[-1] + GAP) if positions else end_y)
    for place in reversed(range(len(positions))):
        positions[place] = min(positions[place], lowest - GAP * (len(positions) - 1 - place))
    for (end_x, end_y, name, stroke), y in zip(ends, positions, strict=True):
        yield f'<polyline points="{_number(end_x)},{_number(end_y)} {_number(x - 4)},{_number(y)}" {stroke}/>'
        yield _text(x, y + 4, name)


def _path(values: Sequence[tuple[float, float]], x_scale: _Scale, y_scale: _Scale) -> str:
    return " ".join(f"{_number(x_scale.at(x))},{_number(y_scale.at(y))}" for x, y in values)


def _line(start: tuple[float, float], end: tuple[float, float], colour: str, width: int = 1) -> str:
    ends = f'x1="{_number(start[0])}" y1="{_number(start[1])}" x2="{_number(end[0])}" y2="{_number(end[1])}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    position = f'x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}" fill="#222" font-weight="{weight}"'
    return f"<text {position}>{escape(text)}</text>"


def _number(value: float) -> str:
    return f"{value:.1f}"


def _svg(width: int, height: int, title: str, body: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    style = 'role="img" font-family="system-ui, sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>'
    background = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join((head, f"<title>{escape(title)}</title>", background, *body, "</svg>", ""))
