"""The texts that the user of a run has written, and the demands of these texts that no answer has dropped. Pure.

The program cannot see that two demands contradict each other. A model states the contradiction (`conflicts_with`), and
the guard `requirements_agree` asks the user which demand holds. The user's answer drops the other demand.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from actors.values.artifacts import Clarified, Context
from actors.values.format import lazy_pattern
from actors.values.requirements import Demand, DemandPlace, DemandReading, RequirementSource, demand_at

PLACES_MAX = 20
"""The largest number of places at which one quote is found in a text. Further places are ignored."""

_WORD = lazy_pattern(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case (`casefold`). A word consists of letters, digits and underscores."""
    return [word.casefold() for word in _WORD.findall(text)]


class Passages:
    """The words of a text, in which quotes can be found. A quote matches only whole words."""

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

    def words_between(self, start: int, end: int) -> range:
        """Return the numbers (from 0) of the words that begin between two offsets of the text."""
        return range(bisect_left(self._begins, start), bisect_left(self._begins, end))

    def find(self, quote: str) -> Iterator[range]:
        """Yield the range of word numbers at each place of a quote; at most `PLACES_MAX` places."""
        wanted = words_of(quote)
        key, place = _join(wanted), -1
        for _ in range(PLACES_MAX if wanted else 0):
            place = self._key.find(key, place + 1)
            if place < 0:
                return
            first = bisect_left(self._at, place + 1)
            yield range(first, first + len(wanted))


def _join(words: Sequence[str]) -> str:
    """Join the words, with a space before and after each word, so that a text search matches only whole words."""
    return f" {' '.join(words)} "


DEMANDS_MAX = 500
KEPT_LENGTH_MAX = 8000
"""The last event of a run stores the demands of its problem only if the problem has at most this many characters.
Reading the demands of a text of this length takes 60 ms.
"""
HOLDS = "Which of the two holds"
"""The beginning of the question about a conflict of two requirements. Below the question, each requirement's quote is
on a line that begins with `QUOTE_MARK`."""
QUOTE_MARK = "- "
NEITHER = "neither"
"""The answer that drops both conflicting requirements."""
READING = "Which reading of the passage below is meant?"
"""The question about an ambiguous requirement."""
_WORDS_COMPARED = 20
"""How many words at the beginning of a quote are searched for in a question. The question may have left out later
words."""
_QUOTED = lazy_pattern(r'`[^`]*`|"[^"]*"')
"""Code and quoted words. A placeholder such as `TBD` in these words does not leave a value open."""
_OPEN = lazy_pattern(
    r"(?<![\w.])(?:TBD|TBC|TBA|tbd)(?!\w)"
    r"|\b(?:still )?to be (?:decided|defined|determined|confirmed|agreed|specified|discussed)\b"
    r"|(?<!\S)\?{2,}(?!\w)"
)


class UserTexts(NamedTuple):
    """The texts that the user of a run has written."""

    texts: tuple[tuple[RequirementSource, str], ...]
    """Pairs of a text and its source: the problem, later messages to the run, and the answers."""
    clarified: tuple[Clarified, ...] = ()
    demands: tuple[DemandPlace, ...] | None = None
    """The demands of the problem; None if they are not known yet."""


class StatedDemand(NamedTuple):
    """A demand, and the position, from 0, of its text in `UserTexts.texts`."""

    demand: Demand
    text: int


class Demands(NamedTuple):
    """The demands of all texts of a user."""

    holding: tuple[StatedDemand, ...]
    """The demands that no answer has dropped, in the order of the texts. No quote is repeated."""
    dropped: tuple[StatedDemand, ...]
    unread: tuple[str, ...]


def user_texts_in(context: Context) -> UserTexts:
    """Return the user's texts from the context of a generator or a guard, without attached files."""
    return user_texts(context.specification, (*context.requirements, *context.notes), context.clarifications)


def user_texts(
    problem: str,
    later: Sequence[str] = (),
    clarified: Sequence[Clarified] = (),
    demands: tuple[DemandPlace, ...] | None = None,
) -> UserTexts:
    """Return the texts of a user.

    `later` has the user's messages to the run after its start. `demands` are the demands of the problem, if they are
    already known.
    """
    texts = [(RequirementSource.PROBLEM, problem)] if problem.strip() else []
    texts += [(RequirementSource.USER, text) for text in later]
    texts += [(RequirementSource.ANSWER, closed.answer) for closed in clarified if closed.answer]
    return UserTexts(tuple(texts), tuple(clarified), demands if problem.strip() else None)


def problem_demands(problem: str) -> tuple[DemandPlace, ...] | None:
    """Return the demands of a problem, which its run's last event stores, so that views need not read the text again.

    Return None if the text is longer than `KEPT_LENGTH_MAX`, or if a part of it was not read.
    """
    if len(problem) > KEPT_LENGTH_MAX:
        return None
    reading = _read(problem, RequirementSource.PROBLEM)
    return None if reading.unread else tuple((item.kind, item.start, item.end) for item in reading.demands)


@lru_cache(maxsize=16)  # A page asks again and again about the same run.
def demands_of(user: UserTexts) -> Demands:
    """Return the demands of all texts, at most `DEMANDS_MAX`."""
    latest: dict[str, StatedDemand] = {}
    unread: list[str] = []
    for number, (source, text) in enumerate(user.texts):
        known = user.demands if number == 0 else None
        reading = _read(text, source) if known is None else _reading_at(known, text, source)
        if reading.unread:
            unread.append(reading.unread)
        for demand in reading.demands:
            if len(latest) == DEMANDS_MAX and demand.id not in latest:
                unread.append(f"Only the first {DEMANDS_MAX} demands of all texts are in this table.")
                break
            latest.pop(demand.id, None)
            latest[demand.id] = StatedDemand(demand, number)
    dropped_words = [words_of(quote)[:_WORDS_COMPARED] for quote in _dropped_quotes(user.clarified)]
    holding: list[StatedDemand] = []
    dropped: list[StatedDemand] = []
    for stated in latest.values():
        answered = user.texts[stated.text][0] == RequirementSource.ANSWER
        is_dropped = not answered and any(_overlap(words_of(stated.demand.quote), words) for words in dropped_words)
        (dropped if is_dropped else holding).append(stated)
    return Demands(tuple(holding), tuple(dropped), tuple(dict.fromkeys(unread)))


def _read(text: str, source: RequirementSource) -> DemandReading:
    from actors.demands.reader import read_demands  # noqa: PLC0415 -- most views know the demands

    return read_demands(text, source)


def _reading_at(places: Iterable[DemandPlace], text: str, source: RequirementSource) -> DemandReading:
    """Return the demands whose places in a text are `places`."""
    return DemandReading(tuple(demand_at(text, kind, source, start, end) for kind, start, end in places), "")


def _dropped_quotes(clarified: Iterable[Clarified]) -> Iterator[str]:
    for closed in clarified:
        if closed.question.count(HOLDS) == 1 and closed.answer:
            lines = closed.question.splitlines()
            quotes = [line.removeprefix(QUOTE_MARK) for line in lines if line.startswith(QUOTE_MARK)]
            kept = [quote for quote in quotes if _contains(quote, closed.answer) or _contains(closed.answer, quote)]
            if words_of(closed.answer) == [NEITHER]:
                yield from quotes
            elif len(kept) == 1:
                yield from (quote for quote in quotes if quote not in kept)


def _overlap(demand: list[str], quote: list[str]) -> bool:
    one, other = _join(demand), _join(quote)
    return bool(demand and quote) and (other in one or one in other)


def open_value(demand: Demand) -> str:
    """Return the words of a demand that leave a value open, such as `TBD`; empty if no value is open."""
    found = _OPEN.search(_QUOTED.sub(lambda quoted: " " * len(quoted[0]), demand.quote))
    return found[0] if found else ""


def is_settled(clarified: Iterable[Clarified], *quotes: str) -> bool:
    """Return whether the user has answered a question that contains all of these quotes."""
    return any(closed.answer and all(_contains(closed.question, quote) for quote in quotes) for closed in clarified)


def _contains(text: str, quote: str) -> bool:
    return _join(words_of(quote)[:_WORDS_COMPARED]) in _join(words_of(text))
