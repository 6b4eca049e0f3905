"""Reads the text of a unit, such as `EUR/(kWh*month)` or `m²`, into names with exponents."""

import re
from collections import Counter
from collections.abc import Mapping

UNIT_CHARACTERS_MAX = 100
"""Characters of a unit."""
EXPONENT_MAX = 12
"""The largest exponent in a unit."""

_TOKEN = re.compile(
    r"\s*(?:(?P<power>\*\*|\^)|(?P<name>(?:[A-Z]{1,2}\$|[€$£¥₩₹₽₺₴₪₦₫₱฿₸元円%‰°]|[^\W\d])\w*)|(?P<number>-?\d+)|(?P<mark>[*/()]))"
)
_SPELLINGS = {"²": "**2", "³": "**3", "·": "*", "⋅": "*", "×": "*"}


class UnitUnreadable(ValueError):
    """A text is no unit; the message is the reason."""


def unit_names(text: str) -> Mapping[str, int]:
    """Return the names of a unit's text with their exponents; none for an empty text or `1`.

    Raises:
        UnitUnreadable: the text is not names joined by `*`, `/`, `per`, `**` and parentheses, or is too long.
    """
    if len(text) > UNIT_CHARACTERS_MAX:
        raise UnitUnreadable(f"a unit of over {UNIT_CHARACTERS_MAX} characters")
    for sign, spelling in _SPELLINGS.items():
        text = text.replace(sign, spelling)
    text = re.sub(r"(?<=\S)\s+per\s+(?=\S)", "/", text.strip())
    tokens: list[tuple[str, str]] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise UnitUnreadable(f"{text[place:].strip()[:20]!r} has no meaning in a unit")
        tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
        place = match.end()
    reader = _Reader(tokens)
    names = reader.product() if tokens else Counter[str]()
    if reader.left:
        raise UnitUnreadable(f"{reader.left[0][1]!r} is not joined to the rest by * or /")
    if any(abs(exponent) > EXPONENT_MAX for exponent in names.values()):
        raise UnitUnreadable(f"an exponent over {EXPONENT_MAX}")
    return {name: exponent for name, exponent in names.items() if exponent}


class _Reader:
    """A reader of tokens by recursive descent; its depth is bounded by the length of the text."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.left = tokens

    def _take(self) -> tuple[str, str]:
        if not self.left:
            raise UnitUnreadable("the unit ends too early")
        token, *self.left = self.left
        return token

    def _next_is(self, *marks: str) -> bool:
        return bool(self.left) and self.left[0][1] in marks

    def product(self) -> Counter[str]:
        total = self._power()
        while self._next_is("*", "/"):
            sign = 1 if self._take()[1] == "*" else -1
            for name, exponent in self._power().items():
                total[name] += sign * exponent
        return total

    def _power(self) -> Counter[str]:
        base = self._atom()
        if not self._next_is("**", "^"):
            return base
        self._take()
        kind, text = self._take()
        if kind != "number" or len(text) > 3:
            raise UnitUnreadable(f"the exponent {text!r} is not a whole number up to {EXPONENT_MAX}")
        return Counter({name: exponent * int(text) for name, exponent in base.items()})

    def _atom(self) -> Counter[str]:
        kind, text = self._take()
        if kind == "name":
            return Counter({text: 1})
        if text == "1":
            return Counter()
        if text != "(":
            raise UnitUnreadable(f"{text!r} stands where a unit is expected")
        inner = self.product()
        if self._take()[1] != ")":
            raise UnitUnreadable("a parenthesis is not closed")
        return inner
