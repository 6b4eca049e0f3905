"""All that the user of one run has said, and the demands in it that still hold. Pure.

What is said later replaces what it contradicts: first the problem, then what was told to the run, then the answers.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from actors.demands.contradictions import contradictions, unclear
from actors.demands.demand import Demand, DemandReading
from actors.demands.patterns import late
from actors.demands.reader import read_demands
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
NEITHER = "neither"
"""The answer that neither of two demands is asked for."""
BOTH = "both"
"""The answer that both of two demands hold: then the stricter one decides."""

READING = "Which reading of the passage below is meant?"
"""The question about an ambiguous requirement."""

_WORDS_COMPARED = 20
"""Words by which a quote is found in a question, which may have shortened it."""


@dataclass(frozen=True, slots=True)
class UserTexts:
    """What the user of a run has written."""

    texts: tuple[tuple[RequirementSource, str], ...]
    """Each text with its source, in the order in which they hold: where two disagree, the later one is right."""
    clarified: tuple[Clarified, ...] = ()
    """The questions that are closed; their answers are among the texts."""


@dataclass(frozen=True, slots=True)
class StatedDemand:
    """One demand and the text that states it."""

    demand: Demand
    """The demand."""
    text: int
    """The number of the text, from 0."""


@dataclass(frozen=True, slots=True)
class Demands:
    """What a user asks for."""

    holding: tuple[StatedDemand, ...]
    """The demands that nothing said later replaces, each quote once, in the order of the texts."""
    replaced: tuple[StatedDemand, ...]
    """Those that a later text or an answer has replaced."""
    open_pairs: tuple[tuple[Demand, Demand], ...]
    """Those that contradict each other where nothing says which of the two holds."""
    unclear_pairs: tuple[tuple[Demand, Demand, str], ...]
    """Those that can both be met where it is open which is meant, and why it is; an answer settles a pair."""
    unread: tuple[str, ...]
    """A sentence for each text of which a part was not read."""


def user_texts_in(context: Context) -> UserTexts:
    """Return what the user has said, from the context of a generator or a guard. Attached files are not read."""
    return user_texts(context.specification, (*context.requirements, *context.notes), context.clarifications)


def user_texts(problem: str, later: Sequence[str] = (), clarified: Sequence[Clarified] = ()) -> UserTexts:
    """Return the texts of a user: the problem, what was told to the run later, and the answers to its questions."""
    texts = [(RequirementSource.PROBLEM, problem)] if problem.strip() else []
    texts += [(RequirementSource.USER, text) for text in later]
    texts += [(RequirementSource.ANSWER, each.answer) for each in clarified if each.answer]
    return UserTexts(tuple(texts), tuple(clarified))


@lru_cache(maxsize=16)  # A page asks again and again about the same run.
def demands_of(user: UserTexts) -> Demands:
    """Return the demands of all texts, of which `DEMANDS_MAX` are read."""
    latest: dict[str, StatedDemand] = {}
    unread: list[str] = []
    for number, (source, text) in enumerate(user.texts):
        reading = _read(text, source)
        if reading.unread:
            unread.append(reading.unread)
        for demand in reading.demands:
            if len(latest) == DEMANDS_MAX and demand.id not in latest:
                unread.append(f"Only the first {DEMANDS_MAX} demands of all texts are in this table.")
                break
            latest.pop(demand.id, None)
            latest[demand.id] = StatedDemand(demand, number)
    said = {each.demand.id: each for each in latest.values()}
    replaced: set[str] = set()
    every = [each.demand for each in latest.values()]
    pairs = {frozenset((one.id, other.id)): (one, other, "") for one, other in contradictions(every)}
    for one, other, why in unclear(every):
        pairs.setdefault(frozenset((one.id, other.id)), (one, other, why))
    left = []
    for one, other, why in pairs.values():
        dropped = _dropped(said[one.id], said[other.id], user.clarified)
        replaced.update(dropped)
        if not dropped:
            left.append((one, other, why))
    still = [pair for pair in left if not replaced.intersection(each.id for each in pair[:2])]
    return Demands(
        holding=tuple(each for each in said.values() if each.demand.id not in replaced),
        replaced=tuple(each for each in said.values() if each.demand.id in replaced),
        open_pairs=tuple((one, other) for one, other, why in still if not why),
        unclear_pairs=tuple(
            pair for pair in still if pair[2] and not is_settled(user.clarified, *(each.quote for each in pair[:2]))
        ),
        unread=tuple(dict.fromkeys(unread)),
    )


@lru_cache(maxsize=32)
def _read(text: str, source: RequirementSource) -> DemandReading:
    return read_demands(text, source)


def _dropped(one: StatedDemand, other: StatedDemand, clarified: Sequence[Clarified]) -> set[str]:
    """Return the ids of those of two contradicting demands that no longer hold."""
    for each in clarified:
        if each.answer and all(_names(each.question, said.demand) for said in (one, other)):
            if words_of(each.answer) == [NEITHER]:
                return {one.demand.id, other.demand.id}
            kept = [said for said in (one, other) if _names(said.demand.quote, each.answer)]
            if len(kept) == 1:
                return {said.demand.id for said in (one, other) if said is not kept[0]}
    if one.text == other.text:
        return set()
    return {min(one, other, key=lambda said: said.text).demand.id}


def is_settled(clarified: Sequence[Clarified], *quotes: str) -> bool:
    """Tell whether the user has answered a question that shows these quotes."""
    return any(each.answer and all(_names(each.question, quote) for quote in quotes) for each in clarified)


def _names(text: str, words: Demand | str) -> bool:
    """Tell whether a text contains the beginning of a demand's quote, or of another text."""
    wanted = words_of(words if isinstance(words, str) else words.quote)[:_WORDS_COMPARED]
    return f" {' '.join(wanted)} " in f" {' '.join(words_of(text))} "
