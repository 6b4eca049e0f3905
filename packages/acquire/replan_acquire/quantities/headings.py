"""Reads the unit and the scale before a number: in its column's name, its table's caption, or its sentence.

A row of a table is written as `name: cell | name: cell`. The row begins with `(merged cells) |` if it is uncertain
which name belongs to which cell (`replan_acquire.documents.tables`).
"""

import re
from dataclasses import dataclass

from replan_acquire.quantities.numerals import scale_at
from replan_acquire.quantities.unit_forms import product_at, rates_at
from replan_acquire.quantities.units import CODES, MINOR, UnitTable, find_currencies

MERGED = "(merged cells)"
"""A row of a table begins with this text if merged cells make the names of the row's cells uncertain."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The unit and the scale (such as thousands) that a heading states for the numbers below it."""

    units: tuple[str, ...] = ()
    factor: float = 1.0
    """The factor that the heading's scale stands for, such as 1000."""
    doubt: str = ""
    """Why the heading is not understood; empty if it is understood."""
    start: int = -1
    """The offset of the text that states the unit and the scale; -1 if no text states them."""

    @property
    def says(self) -> bool:
        """Whether the heading states a unit or a scale, or is doubtful."""
        return bool(self.units or self.doubt) or self.factor != 1.0


_IN_BRACKETS = re.compile(r"[(\[](?P<inner>[^()\[\]|\n]{1,40}(?:\([^()|\n]{1,20}\))?[^()\[\]|\n]{0,20})[)\]]")
_IN = re.compile(r"(?:(?<=[\s,;(\[|])|^)in(?:[ \u00a0]|$)|(?<=\s)(?:en|i\.)[ \u00a0]", re.IGNORECASE)
_SCALE_WORDS = (
    r"hundreds|thousands?|millions?|billions?|tausend|tsd|mio|mrd|mln|bn|milliers|milliards?|millionen|milliarden"
    r"|millones|miles|lakhs?|crores?|dozens"
)
_SAID = re.compile(rf"\b(?:in|en)[ \u00a0](?:(?:[A-Z]{{3}}|[€$£])[ \u00a0])?(?:{_SCALE_WORDS})\b", re.IGNORECASE)
_SCALE = re.compile(
    rf"\b(?:{_SCALE_WORDS}|hundred|dozen|k(?=[€$£]))\b|\b\d{{3,}}\b(?!\s*[-\u2013)])|['\u2019]?000\b",
    re.IGNORECASE,
)
_YEARS = re.compile(r"\b(?:1[89]|20)\d\d\b")
_YEAR_NAME = re.compile(r"\b(?:year|jahr|année|año|date|datum|period)\b", re.IGNORECASE)
_COLON = re.compile(
    r"[)\]]?[ \u00a0]?[:=][ \u00a0]?(?:(?:about|around|approx\.|ca\.|circa|rund|env\.|environ)[ \u00a0])?$"
)
_SENTENCE = re.compile(r"(?<!\bMio)(?<!\bMrd)(?<!\bTsd)(?<!\bca)(?<!\bmln)[.!?](?:[ \u00a0]|$)|[\n|]")
_LEADING = re.compile(r"^(?:(?:in|en)[ \u00a0])?(?:de[ \u00a0]|d['\u2019]|of[ \u00a0])?", re.IGNORECASE)
_BETWEEN = re.compile(r"[ \u00a0]*(?:(?:de|of)[ \u00a0]+|d['\u2019])?", re.IGNORECASE)
_TOKEN = re.compile(r"[^\s\d/,;:|()]+")
_PERCENT = re.compile(r"%|percent\b|per cent\b|Prozent\b|pour cent\b|por ciento\b")
_MONEY_PREFIXES = {"k": 1e3, "M": 1e6}


def heading_before(text: str, start: int, table: UnitTable, language: str = "") -> Heading:
    """Return the heading that applies to the number at the offset `start`.

    In a table, it is made from the name of the number's column and the table's caption. In other text, it is read from
    the number's sentence.
    """
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start) if "\n" in text[start:] else len(text)
    line = text[line_start:line_end]
    if "|" not in line:
        begins = max((match.end() for match in _SENTENCE.finditer(text, line_start, start)), default=line_start)
        return _read_heading(text[begins:start], table, language, sentence=True, at=begins)
    if line.startswith(MERGED):
        return Heading(doubt="the table has merged cells, so it is not clear what the number is about")
    cell_start = text.rfind("|", line_start, start) + 1 or line_start
    own = text[cell_start:start]
    if _YEAR_NAME.search(own) and _YEARS.match(text, start):
        return Heading(doubt="the number is a year")
    if not _is_named(own) and not _row_names_it(line, start - line_start):
        return Heading(doubt="the table has no heading over this number")
    found = _read_heading(own, table, language, sentence=False, at=cell_start)
    caption = _caption(text, line_start, line, table, language)
    if found.doubt or not caption.says:
        return found
    if not found.says:
        return caption
    if caption.doubt or (caption.factor != 1.0 and found.factor != 1.0):
        return Heading(doubt=caption.doubt or "the table and the column both state a scale")
    return Heading(found.units or caption.units, found.factor * caption.factor, start=found.start)


def _is_named(own: str) -> bool:
    return any(letter.isalpha() for letter in own)


def _row_names_it(line: str, position: int) -> bool:
    """Return whether a row has only a name and this number, or the number's cell has letters or a sign such as `€`."""
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    end = line.find("|", position)
    own = line[line.rfind("|", 0, position) + 1 : len(line) if end < 0 else end].strip()
    if any(letter.isalpha() or letter in "€$£%¥" for letter in own):
        return True
    return len(cells) == 2 and _is_named(cells[0]) and own == cells[1]


def _caption(text: str, line_start: int, line: str, table: UnitTable, language: str) -> Heading:
    """Return the heading in a caption: the row's first cell if it is in parentheses, else the line over the table."""
    first = line.split("|", 1)[0].strip()
    if first.startswith("(") and first.endswith(")"):
        return _read_heading(first[1:-1], table, language, sentence=False, at=line_start)
    above = text[:line_start].rstrip("\n").split("\n")
    while above and "|" in above[-1]:
        above.pop()
    return _read_heading(above[-1], table, language, sentence=False, at=0) if above else Heading()


def _read_heading(head: str, table: UnitTable, language: str, *, sentence: bool, at: int) -> Heading:
    """Return the heading in a text before a number.

    In a sentence, only parts in brackets or before a colon are read.
    """
    parts = [(match.start("inner"), match["inner"]) for match in _IN_BRACKETS.finditer(head)]
    colon = _COLON.search(head)
    if not sentence or colon:
        ended = head[: colon.start()] if colon else head
        after_in = [match.end() for match in _IN.finditer(ended)]
        parts += [(place, ended[place:]) for place in after_in if not any(a <= place < a + len(b) for a, b in parts)]
    elif said := _SAID.search(head):
        return Heading(doubt=f"the sentence says {said[0]!r}, which may scale the number")
    found = Heading()
    for place, part in parts:
        read = _read_part(part, table, language)
        if read.doubt:
            return read
        if read.says:
            if found.says:
                return Heading(doubt="the heading states two units")
            found = Heading(read.units, read.factor, start=at + place)
    return found


def _read_part(part: str, table: UnitTable, language: str) -> Heading:
    """Return the scale and the unit that a part of a heading states; an empty `Heading` if it states neither."""
    text = _LEADING.sub("", part.strip().removesuffix(":").strip())
    factor: float = 1.0
    units: tuple[str, ...] = ()
    place, scaled = 0, False
    for _ in range(4):
        gap = _BETWEEN.match(text, place)
        place = gap.end() if gap else place
        if not scaled and (scale := _scale(text, place, table, language, money=bool(units))):
            place, factors = scale
            if len(factors) > 1:
                return Heading(doubt=f"{quote_text(text)} may mean several scales")
            factor, scaled = factor * factors[0], True
        elif not units and (found := _money_or_unit(text, place, table)):
            place, more, units = found
            factor *= more
        else:
            break
    rates = rates_at(text, place, table)
    if not text[rates.end :].strip(" \u00a0.,;:") and not rates.doubt:
        return Heading(tuple(f"{unit}{rates.text}" for unit in units), factor * rates.factor)
    if _SCALE.search(_YEARS.sub("", text)):
        return Heading(doubt=f"{quote_text(text)} cannot be read as a unit")
    return Heading()


def quote_text(text: str) -> str:
    """Return the beginning of a text, in quotation marks and on one line, for a message."""
    return repr(" ".join(text.split())[:40])


def _scale(
    text: str, position: int, table: UnitTable, language: str, *, money: bool
) -> tuple[int, tuple[float, ...]] | None:
    """Return the offset after a scale word, and the factors that the word may mean; None if there is no scale word.

    One or two characters are a scale only beside a currency.
    """
    end, factors = scale_at(text, position, money=True, language=language)
    if end == position:
        return None
    gap = _BETWEEN.match(text, end)
    following = _money_or_unit(text, gap.end() if gap else end, table)
    beside = money or (following is not None and following[2][0] in CODES)
    return (end, factors) if beside or len(text[position:end].strip()) > 2 else None


def _money_or_unit(text: str, position: int, table: UnitTable) -> tuple[int, float, tuple[str, ...]] | None:
    match = _TOKEN.match(text, position)
    if match:
        word = match[0].rstrip(".")
        if word in MINOR:
            return match.end(), 0.01, MINOR[word]
        if currencies := find_currencies(word):
            return match.end(), 1.0, currencies
        if word[:1] in _MONEY_PREFIXES and (currencies := find_currencies(word[1:])):
            return match.end(), _MONEY_PREFIXES[word[0]], currencies
    if found := product_at(text, position, table):
        return found.end, found.factor, (found.unit,)
    percent = _PERCENT.match(text, position)
    return (percent.end(), 1.0, ("percent",)) if percent else None
