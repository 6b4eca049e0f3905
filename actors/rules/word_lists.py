"""Lists of words and phrases, prepared so that a text is compared with all of them in one pass over its words."""

import re
from collections.abc import Iterable, Sequence

from actors.rules.text import find, lower

_WORD = re.compile(r"[^\W_][\w'+#.-]*[\w+#]|[^\W_]")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, in any script; "node.js", "c++" and "don't" are single words."""
    return _WORD.findall(lower(text).replace("\u2019", "'"))


class WordList:
    """A list of lower-case entries: words, words that may go on (a final `*`), and phrases of several words."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Sort the entries by how they are looked up."""
        self._words: set[str] = set()
        self._stems: set[str] = set()
        self._phrases: list[str] = []
        for entry in entries:
            if " " in entry:
                self._phrases.append(entry)
            elif entry.endswith("*"):
                self._stems.add(entry.removesuffix("*"))
            else:
                self._words.add(entry)
        self._lengths = sorted({len(stem) for stem in self._stems})

    def hits(self, words: Sequence[str], small: str) -> list[str]:
        """Return the distinct words and phrases of the list that occur, words first, in the order of the text.

        `words` are the distinct words of the text, `small` is the text in lower case.
        """
        single = [word for word in words if self._holds(word)]
        return single + [phrase.rstrip("*") for phrase in self._phrases if find(small, phrase)]

    def _holds(self, word: str) -> bool:
        if word in self._words:
            return True
        plain = word.removesuffix("'s")
        if plain != word and plain in self._words:
            return True
        return any(word[:length] in self._stems for length in self._lengths)
