"""Numerals: one number as it is written in digits and separators, and what it may mean."""

import re
import unicodedata
from typing import Literal, NamedTuple

DecimalMark = Literal["point", "comma", ""]
"""The mark that a text puts before decimals; empty where nothing tells."""

_SPACES = " \u00a0\u2007\u2009\u200a\u202f"
_SPACED = rf"\d{{1,3}}(?:[{_SPACES}]\d{{3}}(?!\d))+(?:[.,\u066b]\d+)?"
_RUN = r"\d+(?:[.,'\u2019٬\u066b]\d+)*"
NUMERAL = re.compile(rf"(?<![\d.,])(?:{_SPACED}|{_RUN})")
"""A numeral in folded text, in which a plain space may separate thousands."""
DIGITS_MAX = 40
"""Digits of a numeral; a longer one is an identifier."""

_DATES = re.compile(
    r"(?<![\d.])(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}\.\d{1,2}\.(?:19|20)\d\d|\d{1,2}:\d\d(?::\d\d)?)(?![\d])"
)


class Readings(NamedTuple):
    """What a numeral means where the decimal mark is a point, and where it is a comma; equal where it is certain."""

    point: float
    """The number if a point precedes decimals."""
    comma: float
    """The number if a comma precedes decimals."""
    mark: DecimalMark = ""
    """The mark that the numeral itself shows; empty for none."""

    @property
    def certain(self) -> bool:
        """Whether there is one reading."""
        return self.point == self.comma


def fold(text: str) -> str:
    """Return the text, character for character, with ASCII digits, signs and full-width letters; dates are blanked."""
    folded = text if text.isascii() else "".join(map(_folded, text))
    return _DATES.sub(lambda match: "_" * len(match[0]), folded)


def _folded(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    if "\uff01" <= character <= "\uff5e":
        return chr(ord(character) - 0xFEE0)
    return "-" if character == "\u2212" else character


def readings(numeral: str) -> Readings | None:
    """Return what a numeral means; None for one that is no number, such as a version or an identifier."""
    digits = re.sub(r"\D", "", numeral)
    if len(digits) > DIGITS_MAX:
        return None
    head, decimal, tail = numeral.rpartition("\u066b")
    if decimal:
        value = _number(re.sub(r"[^\d]", "", head), tail)
        return Readings(value, value)
    grouped = re.sub(rf"(?<=\d)[{_SPACES}'\u2019٬](?=\d{{3}}(?!\d))", "", numeral)
    marks = re.findall(r"\D", grouped)
    if not marks:
        return Readings(float(grouped), float(grouped))
    if set(marks) - {".", ","}:
        return None
    if len(set(marks)) == 2:
        return _mixed(grouped, marks)
    mark: DecimalMark = "point" if marks[0] == "." else "comma"
    other: DecimalMark = "comma" if mark == "point" else "point"
    if len(marks) > 1:
        return _certain(float(digits), other) if _groups(grouped, marks[0]) else None
    whole, _, decimals = grouped.partition(marks[0])
    value = _number(whole, decimals)
    if grouped != numeral or len(decimals) != 3 or len(whole) > 3 or whole.startswith("0"):
        return _certain(value, mark)
    thousands = float(digits)
    return Readings(value, thousands) if mark == "point" else Readings(thousands, value)


def _certain(value: float, mark: DecimalMark) -> Readings:
    return Readings(value, value, mark)


def _mixed(numeral: str, marks: list[str]) -> Readings | None:
    """Return the reading of a numeral with both marks: the last one precedes the decimals, the other one thousands."""
    last = marks[-1]
    if marks.count(last) > 1 or len(set(marks[:-1])) > 1:
        return None
    whole, _, decimals = numeral.rpartition(last)
    if not _groups(whole, marks[0]):
        return None
    return _certain(_number(re.sub(r"\D", "", whole), decimals), "point" if last == "." else "comma")


def _groups(numeral: str, mark: str) -> bool:
    """Tell whether a mark separates thousands: groups of three digits, or of two before the last one, as in India."""
    first, *rest = numeral.split(mark)
    sizes = [len(group) for group in rest]
    return (
        1 <= len(first) <= 3 and sizes[-1] == 3 and (set(sizes) == {3} or (len(first) <= 2 and set(sizes[:-1]) == {2}))
    )


def _number(whole: str, decimals: str) -> float:
    return float(f"{whole or '0'}.{decimals or '0'}")
