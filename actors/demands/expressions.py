"""Sets of words and patterns, written as a table of short texts."""

import re


def word_set(*lines: str) -> frozenset[str]:
    """Return the words of some lines as a set."""
    return frozenset(word for line in lines for word in line.split())


def any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that matches where one of some patterns does; the first has precedence."""
    return re.compile("|".join(patterns))


def spelled(small: str) -> str:
    """Return a sentence of lower-case text with "is not" for "isn't", so that patterns need one form of it."""
    return small.replace("'ve got", " have").replace("isn't", "is not").replace("aren't", "are not")
