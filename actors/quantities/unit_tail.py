"""The unit that is written behind a number in a running text, as far as it can be told from other words."""

import re
from collections.abc import Iterator

from actors.quantities.unit_text import UNIT_CHARACTERS_MAX
from actors.quantities.units import UnitTable
from actors.quantities.written import WrittenNumber

_ROWS = (
    "a al am an are as at au b bar by c can con count counts cup cups d da das de del den der des die do",
    "e een el em et foot ha hand hands het i il im in is it la las le les link links los me na no o of on",
    "one ons or os per pm point points pool pools por pt que rod round sin stick sticks stone te to un",
    "und une us was we x y",
)
_WORDS = frozenset(word for row in _ROWS for word in row.split())
"""Words that are names of units, but stand behind numbers for another reason more often."""
_TAIL = re.compile(r"[ \u00a0\u202f-]?(?P<unit>[^\d\s,;:!?()\[\]|\"“”„]+(?:[ \u00a0][^\d\s,;:!?()\[\]|\"“”„]+){0,3})")
_COLUMN = re.compile(r"[(\[](?P<unit>[^()\[\]|]{1,40})[)\]][ \u00a0]?[:=][ \u00a0]?$")
"""The unit in the name of a column, before a number of a table's row: `price (EUR/kWh): 0.25`."""
_RATE = re.compile(
    r"[ \u00a0]?(?:/|per )[ \u00a0]?(?P<unit>[^\s,;:!?\[\]|\"“”„]+(?:[ \u00a0]per[ \u00a0][^\s,;:!?]+)?)"
)


def written_units(text: str, number: WrittenNumber, table: UnitTable) -> list[str]:
    """Return the units that stand with a number, such as `EUR/kWh` of `€0.25/kWh`; none where no unit is written.

    There are several where a currency sign stands for several currencies.
    """
    after = text[number.end : number.end + UNIT_CHARACTERS_MAX]
    if number.share:
        return [number.share]
    if number.currencies:
        rate = _RATE.match(after)
        per = next(_candidates(rate["unit"], table), "") if rate else ""
        return [f"{currency}/{_grouped(per)}" if per else currency for currency in number.currencies]
    tail = _TAIL.match(after)
    unit = next(_candidates(tail["unit"], table), "") if tail else ""
    column = _COLUMN.search(text, max(0, number.start - 50), number.start) if not unit else None
    if column and not table.problem(column["unit"].strip()):
        unit = column["unit"].strip()
    return [unit] if unit else []


def _grouped(unit: str) -> str:
    return unit.replace(" per ", "/").replace("*", "/") if "*" in unit or " per " in unit else unit


def _candidates(text: str, table: UnitTable) -> Iterator[str]:
    """Yield the units that a text begins with, the longest one first."""
    words = re.split("[ \u00a0]", text)
    for count in range(len(words), 0, -1):
        joined = " ".join(words[:count]).rstrip(".-\u2013—*'\u2019")
        if joined.lower() in _WORDS or not joined:
            continue
        for unit in dict.fromkeys((joined, joined.replace(" ", "_"))):
            if not table.problem(unit):
                yield unit
