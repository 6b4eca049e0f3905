"""Finds the year, or the range of years, that a quantity in a text is about.

It searches the quantity's row, sentence and headings. Pure.
"""

import re
from collections.abc import Iterator

_YEAR = r"(?:19|20)\d\d"
_ANY = re.compile(rf"(?<![\d.,/-]){_YEAR}(?:[ \u00a0]?[-\u2013/][ \u00a0]?{_YEAR}|/\d\d)?(?![\d]|[.,]\d|[-/]\d)")
_DATE = re.compile(rf"(?<!\d)(?:({_YEAR})-\d\d-\d\d|\d\d?[./]\d\d?[./]({_YEAR}))(?!\d)")
_TIME_WORDS = (
    "in since of for from to until during year by end fiscal spring summer autumn winter Q1 Q2 Q3 Q4",
    "im jahr seit von für bis ab stand en de del année an depuis pour desde año",
)
_MONTHS = (
    r"jan\w* feb\w* mar\w* apr\w* may mai mayo jun\w* jul\w* aug\w* sep\w* o[ck]t\w* nov\w* dec\w* dez\w* mär\w*",
    r"janvier février avril juin juillet août décembre enero abril agosto diciembre",
)
_WORD_BEFORE = "|".join(word for row in (*_TIME_WORDS, *_MONTHS) for word in row.split())
_BEFORE = re.compile(rf"(?:^|[(\[|:,;\u2013-]|\b(?:{_WORD_BEFORE}))[ \u00a0]*$", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;]|\b(?:and|und|et|y|while|but|aber|mais|pero)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?](?=\s|$)|\n")


def period_of(text: str, start: int, end: int, title: str = "") -> str:
    """Return the year, or the range of years, of the quantity between two offsets; empty if no year is stated.

    These parts are searched in order: the column's name, the row, the clause, the sentence, the line above the table,
    the heading above, the title. The first part that contains a year decides. If this part contains several years, the
    result is empty.
    """
    for years in _nearest(text, start, end, title):
        found = dict.fromkeys(years)
        if found:
            return next(iter(found)) if len(found) == 1 else ""
    return ""


def last_year(period: str) -> int | None:
    """Return the last year of a period; None if it has no year."""
    found = re.findall(_YEAR, period)
    return int(found[-1]) if found else None


def _nearest(text: str, start: int, end: int, title: str) -> Iterator[list[str]]:
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line = text[line_start : len(text) if line_end < 0 else line_end]
    if "|" in line:
        cell_start = text.rfind("|", line_start, start) + 1 or line_start
        yield [*_loose(text[cell_start:start])]
        yield [year for cell in line.split("|") for year in _year_cell(cell)]
    else:
        begins = max((match.end() for match in _SENTENCE.finditer(text, line_start, start)), default=line_start)
        ending = _SENTENCE.search(text, end)
        ends = ending.start() if ending else len(text)
        clause = max((match.end() for match in _CLAUSE.finditer(text, begins, start)), default=begins)
        after = _CLAUSE.search(text, end, ends)
        yield [*_marked_years(text, clause, after.start() if after else ends, start, end)]
        yield [*_marked_years(text, begins, ends, start, end)]
    above = [part for part in text[:line_start].split("\n") if part.strip() and "|" not in part]
    yield [*_loose(above[-1])] if "|" in line and above else []
    headings = [part for part in text[:line_start].split("\n") if part.startswith("#")]
    yield [*_loose(headings[-1])] if headings else []
    yield [*_loose(title)]


def _year_cell(cell: str) -> Iterator[str]:
    """Yield the year of a cell that contains only a year, or only a word such as `year` and a year.

    The years of dates are yielded too.
    """
    name, _, value = cell.strip().rpartition(":")
    match = _ANY.fullmatch(value.strip())
    if match and (not name or re.search(r"year|jahr|ann|año|period|date|fiscal", name, re.IGNORECASE)):
        yield match[0]
    yield from (one or other for one, other in _DATE.findall(value))


def _loose(text: str) -> Iterator[str]:
    yield from (match[0] for match in _ANY.finditer(text))
    yield from (one or other for one, other in _DATE.findall(text))


def _marked_years(text: str, begins: int, ends: int, start: int, end: int) -> Iterator[str]:
    """Yield those years in a part of a sentence that follow a word such as `in` or a mark such as a comma.

    The years of dates are yielded too.
    """
    for match in _ANY.finditer(text, begins, ends):
        beside = start <= match.start() < end
        if not beside and _BEFORE.search(text[max(begins, match.start() - 14) : match.start()]):
            yield match[0]
    for match in _DATE.finditer(text, begins, ends):
        yield match[1] or match[2]
