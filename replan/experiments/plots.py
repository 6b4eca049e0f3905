"""The plots of a report, as SVG text: curves with bands, points with intervals. The same data give the same bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#7b5ea7", "#b08900", "#3d5a6c", "#a23b72", "#4f772d", "#8d5b4c", "#5f6c7b")
"""Dark enough to be read in print; beyond ten arms they repeat, so every line and point is labelled as well."""

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 720, 60, 190, 48, 46
ROW = 22
"""The height of a row of points."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value with its interval. For a curve, `x` is where it stands."""

    value: float
    low: float
    high: float
    x: float = 0.0


def curves(title: str, lines: dict[str, Sequence[Point]], x_label: str, y_label: str) -> str:
    """Return a plot of one line per name, each in a band of its intervals; y is a share, from 0 to 1."""
    height = 360
    most = max((point.x for points in lines.values() for point in points), default=1.0)
    across = _Scale(0.0, most, LEFT, WIDTH - RIGHT)
    up = _Scale(0.0, 1.0, height - BOTTOM, TOP)
    body = [*_frame(title, height, across, up, (x_label, y_label))]
    ends = []
    for place, (name, points) in enumerate(lines.items()):
        colour = COLOURS[place % len(COLOURS)]
        band = [(point.x, point.low) for point in points] + [(point.x, point.high) for point in reversed(points)]
        body.append(f'<polygon points="{_path(band, across, up)}" fill="{colour}" fill-opacity="0.12"/>')
        middle = _path([(point.x, point.value) for point in points], across, up)
        body.append(f'<polyline points="{middle}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if points:
            ends.append((up.at(points[-1].value), name, colour))
    body += _labels(ends, WIDTH - RIGHT + 8, height - BOTTOM)
    return _svg(height, title, body)


def points(title: str, rows: dict[str, Point], x_label: str) -> str:
    """Return a plot of one point per name, each with its interval."""
    height = TOP + BOTTOM + ROW * max(1, len(rows))
    left = 210
    most = max((min(point.high, 4 * point.value + 1) for point in rows.values()), default=1.0) or 1.0
    least = min((point.low for point in rows.values()), default=0.0)
    across = _Scale(min(0.0, least), most, left, WIDTH - 30)
    body = [_text(left, 18, title, weight="bold"), *_axis(across, height, x_label)]
    for place, (name, point) in enumerate(rows.items()):
        colour, middle = COLOURS[place % len(COLOURS)], TOP + ROW * place + ROW / 2
        ends = (across.at(point.low), across.at(min(point.high, most)))
        body.append(_text(left - 10, middle + 4, name, anchor="end"))
        body.append(_line((ends[0], middle), (ends[1], middle), colour, 2))
        body.append(f'<circle cx="{_n(across.at(point.value))}" cy="{_n(middle)}" r="4" fill="{colour}"/>')
    return _svg(height, title, body)


@dataclass(frozen=True, slots=True)
class _Scale:
    """From values to places on the page."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return where a value stands."""
        span = self.high - self.low or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return about five round values."""
        span = self.high - self.low or 1.0
        sizes = [base * 10.0**power for power in range(-4, 7) for base in (1, 2, 5)]
        size = next((size for size in sizes if span / size <= 6), span)
        first = int(self.low // size)
        return [round(n * size, 6) for n in range(first, first + 10) if self.low <= n * size <= self.high + 1e-9]


def _frame(title: str, height: int, across: _Scale, up: _Scale, labels: tuple[str, str]) -> Iterator[str]:
    yield _text(LEFT, 18, title, weight="bold")
    yield from _axis(across, height, labels[0])
    for tick in up.ticks():
        yield _line((LEFT, up.at(tick)), (WIDTH - RIGHT, up.at(tick)), "#ddd")
        yield _text(LEFT - 8, up.at(tick) + 4, f"{tick:g}", anchor="end")
    yield _text(LEFT, TOP - 10, labels[1])


def _axis(across: _Scale, height: int, label: str) -> Iterator[str]:
    bottom = height - BOTTOM
    for tick in across.ticks():
        yield _line((across.at(tick), TOP), (across.at(tick), bottom), "#ddd")
        yield _text(across.at(tick), bottom + 16, f"{tick:g}", anchor="middle")
    yield _line((across.start, bottom), (across.end, bottom), "#333")
    yield _text((across.start + across.end) / 2, bottom + 34, label, anchor="middle")


def _labels(ends: list[tuple[float, str, str]], x: float, lowest: float) -> Iterator[str]:
    """Yield the names at the ends of their lines, moved apart where they would cover each other."""
    y = lowest + 14.0
    for wanted, name, colour in sorted(ends, key=lambda end: -end[0]):
        y = min(wanted + 4, y - 14)
        yield _text(x, y, name, colour=colour)


def _path(values: Sequence[tuple[float, float]], across: _Scale, up: _Scale) -> str:
    return " ".join(f"{_n(across.at(x))},{_n(up.at(y))}" for x, y in values)


def _line(start: tuple[float, float], end: tuple[float, float], colour: str, width: int = 1) -> str:
    ends = f'x1="{_n(start[0])}" y1="{_n(start[1])}" x2="{_n(end[0])}" y2="{_n(end[1])}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#222", weight: str = "normal") -> str:
    place = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}"'
    return f"<text {place}>{escape(text)}</text>"


def _n(value: float) -> str:
    return f"{value:.1f}"


def _svg(height: int, title: str, body: Sequence[str]) -> str:
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    style = 'role="img" font-family="system-ui, sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>'
    return "\n".join((head, f"<title>{escape(title)}</title>", *body, "</svg>", ""))
