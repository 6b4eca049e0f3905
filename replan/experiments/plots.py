"""The plots of a report, as SVG text: curves with bands, points with intervals. The same data give the same bytes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#7b5ea7", "#b08900", "#3d5a6c", "#a23b72", "#4f772d", "#8d5b4c", "#5f6c7b")
DASHES = ("none", "7 3", "2 2")
"""Lines differ in their dashes too, since print may be grey. Colour and dash together repeat after thirty lines."""
INK = COLOURS[0]
"""The colour of points: their rows are named, so one is enough."""

ACROSS, LEFT, RIGHT, TOP, BOTTOM = 470, 60, 30, 48, 46
"""The width of what is plotted, and the margins around it, in pixels; room for names comes on top."""
ROW, GAP, KEY = 22, 14, 26
"""The height of a row of points, of a line's name, and the width of the key that leads from a line to its name."""
LETTER = 7
"""More than the mean width of a letter, in fonts as wide as DejaVu Sans at 12 pixels."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value with its interval. For a curve, `x` is where it stands."""

    value: float
    low: float
    high: float
    x: float = 0.0


def curves(title: str, lines: Mapping[str, Sequence[Point]], x_label: str, y_label: str) -> str:
    """Return a plot of one line per name, each in a band of its intervals; y is a share, from 0 to 1."""
    height = max(360, TOP + BOTTOM + GAP * len(lines))
    most = max((point.x for points in lines.values() for point in points), default=1.0)
    across = _Scale(0.0, most, LEFT, LEFT + ACROSS)
    up = _Scale(0.0, 1.0, height - BOTTOM, TOP)
    body = [*_frame(title, height, across, up, (x_label, y_label))]
    ends, bands, drawn = [], [], []
    shade = min(0.12, 1.2 / max(1, len(lines)))
    for place, (name, points) in enumerate(lines.items()):
        colour, dash = COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)]
        band = [(point.x, point.low) for point in points] + [(point.x, point.high) for point in reversed(points)]
        bands.append(f'<polygon points="{_path(band, across, up)}" fill="{colour}" fill-opacity="{shade:.2f}"/>')
        middle = _path([(point.x, point.value) for point in points], across, up)
        stroke = f'fill="none" stroke="{colour}" stroke-dasharray="{dash}"'
        drawn.append(f'<polyline points="{middle}" {stroke} stroke-width="2"/>')
        if points:
            ends.append((across.at(points[-1].x), up.at(points[-1].value), name, stroke))
    body += (*bands, *drawn, *_names(ends, LEFT + ACROSS + KEY, height - BOTTOM))
    return _svg(LEFT + max(ACROSS + KEY + _room(lines), _room([title])), height, title, body)


def points(title: str, rows: Mapping[str, Point], x_label: str) -> str:
    """Return a plot of one point per name, each with its interval; an arrow stands where an interval goes on."""
    height = TOP + BOTTOM + ROW * max(1, len(rows))
    left = _room(rows)
    most = max((min(point.high, 4 * point.value + 1) for point in rows.values()), default=1.0) or 1.0
    least = min((0.0, *(point.low for point in rows.values())))
    across = _Scale(least, most, left, left + ACROSS)
    body = [_text(left, 18, title, weight="bold"), *_axis(across, height, x_label)]
    body.append(_line((across.at(0.0), TOP), (across.at(0.0), height - BOTTOM), "#333"))
    for place, (name, point) in enumerate(rows.items()):
        middle = TOP + ROW * place + ROW / 2
        body.append(_text(left - 10, middle + 4, name, anchor="end"))
        body.append(_line((across.at(point.low), middle), (across.at(min(point.high, most)), middle), INK, 2))
        body.append(f'<circle cx="{_n(across.at(point.value))}" cy="{_n(middle)}" r="4" fill="{INK}"/>')
        if point.high > most:
            body.append(_text(left + ACROSS, middle + 4, "\u2192"))
    return _svg(left + max(ACROSS + RIGHT, _room([title])), height, title, body)


def _room(texts: Iterable[str]) -> int:
    """Return the width that the longest text may need."""
    return 20 + LETTER * max(map(len, texts), default=0)


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
        yield _line((LEFT, up.at(tick)), (LEFT + ACROSS, up.at(tick)), "#ddd")
        yield _text(LEFT - 8, up.at(tick) + 4, f"{tick:g}", anchor="end")
    yield _text(LEFT, TOP - 10, labels[1])


def _axis(across: _Scale, height: int, label: str) -> Iterator[str]:
    bottom = height - BOTTOM
    for tick in across.ticks():
        yield _line((across.at(tick), TOP), (across.at(tick), bottom), "#ddd")
        yield _text(across.at(tick), bottom + 16, f"{tick:g}", anchor="middle")
    yield _line((across.start, bottom), (across.end, bottom), "#333")
    yield _text((across.start + across.end) / 2, bottom + 34, label, anchor="middle")


def _names(ends: list[tuple[float, float, str, str]], x: float, lowest: float) -> Iterator[str]:
    """Yield the names of lines, moved apart where they would cover each other, each with a key from its line's end."""
    ends = sorted(ends, key=lambda end: end[1])
    places: list[float] = []
    for _, wanted, _, _ in ends:
        places.append(max(wanted, places[-1] + GAP) if places else wanted)
    for place in reversed(range(len(places))):
        places[place] = min(places[place], lowest - GAP * (len(places) - 1 - place))
    for (start, wanted, name, stroke), y in zip(ends, places, strict=True):
        yield f'<polyline points="{_n(start)},{_n(wanted)} {_n(x - 4)},{_n(y)}" {stroke}/>'
        yield _text(x, y + 4, name)


def _path(values: Sequence[tuple[float, float]], across: _Scale, up: _Scale) -> str:
    return " ".join(f"{_n(across.at(x))},{_n(up.at(y))}" for x, y in values)


def _line(start: tuple[float, float], end: tuple[float, float], colour: str, width: int = 1) -> str:
    ends = f'x1="{_n(start[0])}" y1="{_n(start[1])}" x2="{_n(end[0])}" y2="{_n(end[1])}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    place = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" fill="#222" font-weight="{weight}"'
    return f"<text {place}>{escape(text)}</text>"


def _n(value: float) -> str:
    return f"{value:.1f}"


def _svg(width: int, height: int, title: str, body: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    style = 'role="img" font-family="system-ui, sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>'
    paper = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join((head, f"<title>{escape(title)}</title>", paper, *body, "</svg>", ""))
