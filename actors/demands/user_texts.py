"""What the user of one run has written, and the demands in it that still hold. Pure.

The program does not decide whether two demands contradict each other. Recon states it (`conflicts_with`), the guard
`requirements_agree` asks which of the two holds, and the answer drops the other one.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from actors.demands.reader import Demand, read_demands
from actors.demands.wordings import late
from actors.values.artifacts import Clarified, Context
from actors.values.requirements import RequirementSource

PLACES_MAX = 20
"""Places of one quote that are looked at."""

_WORD = late(r"\w+")


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


DEMANDS_MAX = 500
"""Demands of all texts together that are read."""
HOLDS = "Which of the two holds"
"""The beginning of the question about a conflict; below it stand both quotes, each after `QUOTE_MARK`."""
QUOTE_MARK = "- "
NEITHER = "neither"
"""The answer that neither of two requirements is asked for."""
READING = "Which reading of the passage below is meant?"
"""The question about an ambiguous requirement."""
_WORDS_COMPARED = 20
"""Words by which a quote is found in a question, which may have shortened it."""
_QUOTED = late(r'`[^`]*`|"[^"]*"')
"""Names of a program and words of others: a placeholder in them is what the sentence is about."""
_OPEN = late(
    r"(?<![\w.])(?:TBD|TBC|TBA|tbd)(?!\w)"
    r"|\b(?:still )?to be (?:decided|defined|determined|confirmed|agreed|specified|discussed)\b"
    r"|(?<!\S)\?{2,}(?!\w)"
)


@dataclass(frozen=True, slots=True)
class UserTexts:
    """What the user of a run has written."""

    texts: tuple[tuple[RequirementSource, str], ...]
    """The problem, what was told to the run later, and the answers, with their sources."""
    clarified: tuple[Clarified, ...] = ()
    """The questions that are closed; their answers are among the texts."""


@dataclass(frozen=True, slots=True)
class StatedDemand:
    """A demand, and the number of the text that states it, from 0."""

    demand: Demand
    text: int


@dataclass(frozen=True, slots=True)
class Demands:
    """What a user asks for."""

    holding: tuple[StatedDemand, ...]
    """The demands that no answer has dropped, each quote once, in the order of the texts."""
    dropped: tuple[StatedDemand, ...]
    """Those that lost against another one by an answer of the user."""
    unread: tuple[str, ...]
    """A sentence for each text of which a part was not read."""


def user_texts_in(context: Context) -> UserTexts:
    """Return what the user has said, from the context of a generator or a guard. Attached files are not read."""
    return user_texts(context.specification, (*context.requirements, *context.notes), context.clarifications)


def user_texts(problem: str, later: Sequence[str] = (), clarified: Sequence[Clarified] = ()) -> UserTexts:
    """Return the texts of a user: the problem, what was told to the run later, and the answers to its questions."""
    texts = [(RequirementSource.PROBLEM, problem)] if problem.strip() else []
    texts += [(RequirementSource.USER, text) for text in later]
    texts += [(RequirementSource.ANSWER, closed.answer) for closed in clarified if closed.answer]
    return UserTexts(tuple(texts), tuple(clarified))


@lru_cache(maxsize=16)  # A page asks again and again about the same run.
def demands_of(user: UserTexts) -> Demands:
    """Return the demands of all texts, of which `DEMANDS_MAX` are read."""
    latest: dict[str, StatedDemand] = {}
    unread: list[str] = []
    for number, (source, text) in enumerate(user.texts):
        reading = read_demands(text, source)
        if reading.unread:
            unread.append(reading.unread)
        for demand in reading.demands:
            if len(latest) == DEMANDS_MAX and demand.id not in latest:
                unread.append(f"Only the first {DEMANDS_MAX} demands of all texts are in this table.")
                break
            latest.pop(demand.id, None)
            latest[demand.id] = StatedDemand(demand, number)
    lost = [words_of(quote)[:_WORDS_COMPARED] for quote in _lost_quotes(user.clarified)]
    holding: list[StatedDemand] = []
    dropped: list[StatedDemand] = []
    for said in latest.values():
        answered = user.texts[said.text][0] == RequirementSource.ANSWER
        gone = not answered and any(_agree(words_of(said.demand.quote), words) for words in lost)
        (dropped if gone else holding).append(said)
    return Demands(tuple(holding), tuple(dropped), tuple(dict.fromkeys(unread)))


def _lost_quotes(clarified: Iterable[Clarified]) -> Iterator[str]:
    """Yield the quotes that do not hold, as the user has answered the question about a conflict."""
    for closed in clarified:
        if closed.question.count(HOLDS) == 1 and closed.answer:
            lines = closed.question.splitlines()
            quotes = [line.removeprefix(QUOTE_MARK) for line in lines if line.startswith(QUOTE_MARK)]
            kept = [quote for quote in quotes if _contains(quote, closed.answer) or _contains(closed.answer, quote)]
            if words_of(closed.answer) == [NEITHER]:
                yield from quotes
            elif len(kept) == 1:
                yield from (quote for quote in quotes if quote not in kept)


def _agree(demand: list[str], quote: list[str]) -> bool:
    """Tell whether one of two quotes, the second of which may be shortened, stands in the other one."""
    one, other = f" {' '.join(demand)} ", f" {' '.join(quote)} "
    return bool(demand and quote) and (other in one or one in other)


def open_value(demand: Demand) -> str:
    """Return the words with which a demand leaves a value open, such as `TBD`; empty where it leaves none."""
    found = _OPEN.search(_QUOTED.sub(lambda quoted: " " * len(quoted[0]), demand.quote))
    return found[0] if found else ""


def is_settled(clarified: Iterable[Clarified], *quotes: str) -> bool:
    """Tell whether the user has answered a question that shows these quotes."""
    return any(closed.answer and all(_contains(closed.question, quote) for quote in quotes) for closed in clarified)


def _contains(text: str, quote: str) -> bool:
    """Tell whether a text contains the first words of a quote."""
    return f" {' '.join(words_of(quote)[:_WORDS_COMPARED])} " in f" {' '.join(words_of(text))} "
