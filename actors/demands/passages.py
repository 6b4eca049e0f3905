"""A text as words, in which quotes are found whatever their case, white space and punctuation. Pure."""

import re
from bisect import bisect_left
from collections.abc import Iterator

PLACES_MAX = 20
"""Places of one quote that are looked at."""

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the words of a text with case folded; a word is letters, digits and underscores."""
    return [word.casefold() for word in _WORD.findall(text)]


class Passages:
    """The words of one text. A quote is found word by word, so one that begins or ends inside a word is not."""

    def __init__(self, text: str) -> None:
        self._begins: list[int] = []
        self._at: list[int] = []
        parts, length = [" "], 1
        for match in _WORD.finditer(text):
            word = match[0].casefold()
            self._begins.append(match.start())
            self._at.append(length)
            parts.append(f"{word} ")
            length += len(word) + 1
        self._key = "".join(parts)

    def between(self, start: int, end: int) -> range:
        """Return the numbers of the words that begin between two places of the text, in characters."""
        return range(bisect_left(self._begins, start), bisect_left(self._begins, end))

    def find(self, quote: str) -> Iterator[range]:
        """Yield the places of a quote as numbers of words, `PLACES_MAX` at most; none for a quote without words."""
        wanted = words_of(quote)
        key, place = f" {' '.join(wanted)} ", -1
        for _ in range(PLACES_MAX if wanted else 0):
            place = self._key.find(key, place + 1)
            if place < 0:
                return
            first = bisect_left(self._at, place + 1)
            yield range(first, first + len(wanted))
