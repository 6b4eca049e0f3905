"""The requirements that a text states, as `actors.demands` reads them, the goal of a bug report, and the stated cause.

Every requirement quotes the text. The patterns are those of `configs/templates/requirements.yaml`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from actors.demands.instructions import instructs
from actors.demands.kinds import requirement_kind
from actors.demands.patterns import any_of
from actors.demands.reader import read_demands
from actors.files.validation_errors import Config
from actors.guards.fields import folded
from actors.rules.decision import DECISION, excludes_building
from actors.rules.sentence_forms import NAME, STATEMENT, FormTable, form_of, is_proposal
from actors.rules.text import ProblemText, lower, shorten
from actors.values.requirements import Requirement, RequirementKind, RequirementSource, requirement_id

REQUIREMENTS_MAX = 200
CLAUSE_LENGTH_MAX = 400  # patterns are tried on at most so many characters at once
SENTENCES_READ_MAX = 4000  # sentences in which a cause is looked for: the reading stays below a second
MENDED_WITHIN = 40  # sentences at the beginning in which the right value of a failure is looked for
WISHES_WITHIN = 14  # in a feature request of at most so many sentences, a plain statement is a wish too
END = " .;,"
CAUSED = frozenset(("bug_fix", "performance"))  # kinds of problems that have a cause

_SENTENCE = re.compile(r"[.;] (?=\W?[A-Z`])")
_LIMIT = re.compile(
    r"\b(?:should|must|shall|needs?|has to|have to|want|please|under|below|within|at (?:most|least)|up to|less|more)\b"
    r"|\b(?:max|min)imum\b|[<>]"
)
_MEASURE = re.compile(r"[a-z][\w ]{1,30}: ?(?:about |around |roughly |up to |~)?\d")
_NUMBER = re.compile(r"\d|\b(?:dozens?|hundreds?|thousands?|millions?) of\b")
_IS_IN = re.compile(r"\b(?:is|are|lives?|sits?) (?:\w+ )?(?:in|by|at) `|\b(?:\d+|\w+) times a\b")
_CONTEXT = any_of(  # such a sentence describes how things are
    r"^(?:currently|today|at present|at the moment|right now|so far|until now|background|about \d)",
    r"^(?:hi\b|hello|thanks|thank you|happy to|see|as seen|as discussed)",
    r"\b(?:keep asking|has been|have been|was|were)\b",
    r"\b(?:is|are|lives?|sits?) (?:\w+ )?(?:in|by|at) `",
    r"\bhas an? (?:\w+ )?(?:helper|function|class|method|service)\b",
)
_LINKING = re.compile(r"^(?:and|but|so|also) ")
_RIGHT = re.compile(
    r"(?P<what>[^:;]{1,200}?) (?P<verb>gives|returns|shows|prints|yields|is|are|contains|sends|writes|has|gets) "
    r"(?P<wrong>[^:;,]{1,80}?),? instead of (?P<right>[^;]{1,80})$"
)


class RequirementPatterns(Config):
    """The content of `configs/templates/requirements.yaml`."""

    sections: tuple[str, ...]
    """The names of sections: a line that consists of one is a heading, also without markup."""
    causes: tuple[str, ...]
    """How a stated cause shows; the group is the cause."""

    @cached_property
    def cause_patterns(self) -> tuple[re.Pattern[str], ...]:
        """The compiled expressions for a stated cause, the plainest wording first."""
        return tuple(map(re.compile, self.causes))


@dataclass(frozen=True, slots=True)
class StatedDemands:
    """What a text demands, and the cause that it states."""

    requirements: tuple[Requirement, ...]
    """The requirements in the order of the text, those that the user has added since first."""
    cause: str
    """The stated cause as quoted, or an empty text."""


def stated_in(
    text: ProblemText,
    added: Iterable[str],
    title: str,
    *,
    kind: str,
    patterns: RequirementPatterns,
    forms: FormTable,
    mended: str,
) -> StatedDemands:
    """Return what the text demands.

    `added` are the requirements that the user has added since, folded; `title` is the text's title, `kind` the kind of
    problem. `mended` is the phrase for the goal of a bug report that says none: a failure is never a goal.
    """
    own = [_requirement(requirement_kind(lower(item)), item, RequirementSource.USER) for item in added]
    said = {item.quote for item in own}
    read: list[Requirement] = []
    for position, part in enumerate(text.parts):
        if folded(part) in said:
            continue
        reading = read_demands(part, RequirementSource.ANSWER if position else RequirementSource.PROBLEM)
        for demand in reading.demands:
            if " " not in demand.quote or demand.quote.endswith(":"):  # "please" and "What we need:" ask for nothing
                continue
            fact = demand.kind == RequirementKind.GOAL and _is_fact(demand.quote, forms)
            fact = fact or (kind == DECISION and excludes_building(demand.quote))
            read.append(_requirement(RequirementKind.SCOPE if fact else demand.kind, demand.quote, demand.source))
    if kind == "feature":
        read += _wishes(text, title, [item.quote for item in read], forms)
    if kind == "bug_fix" and not any(item.kind == RequirementKind.GOAL for item in (*own, *read)):
        goal = _mended(text, title, mended)
        read = [*([] if goal is None else [goal]), *(item for item in read if goal is None or item.id != goal.id)]
    distinct = {item.id: item for item in reversed((*own, *read))}
    kept = tuple(reversed(distinct.values()))[:REQUIREMENTS_MAX]
    quotes = [item.quote for item in read]
    cause = "" if kind not in CAUSED or is_proposal(text, forms) else _cause(text, quotes, patterns)
    return StatedDemands(kept, cause)


def _is_fact(quote: str, forms: FormTable) -> bool:
    """Return whether a sentence under a heading that asks for something only says how large or where something is."""
    small = lower(quote)
    if _LIMIT.search(small):
        return False
    if _MEASURE.match(small):
        return True
    if instructs(small):
        return False
    form = form_of(quote, forms)
    return (form == NAME and bool(_NUMBER.search(small))) or (form == STATEMENT and bool(_IS_IN.search(small)))


def _requirement(kind: RequirementKind, quote: str, source: RequirementSource) -> Requirement:
    text = _LINKING.sub("", quote).rstrip(END) or quote
    return Requirement(requirement_id(quote), str(kind), text, quote, str(source))


def _wishes(text: ProblemText, title: str, demands: list[str], forms: FormTable) -> Iterator[Requirement]:
    """Yield the plain statements of a short request for a feature: how things are to be, where no demand says it."""
    pieces = list(_pieces(text, WISHES_WITHIN + 1))
    wanted = "\n".join(demands)
    for piece in pieces if len(pieces) <= WISHES_WITHIN else ():
        small = lower(piece)
        plain = piece.strip(" *=_:#").rstrip(".")
        if plain == title or piece.rstrip(END) in wanted or piece.startswith("#") or small.endswith((":", "?")):
            continue
        described = _CONTEXT.search(small) or _is_fact(piece, forms)
        if not described and (goal := _goal(text, piece.rstrip(END), piece)) is not None:
            yield goal


def _mended(text: ProblemText, title: str, phrase: str) -> Requirement | None:
    """Return what shall be true once a reported failure is mended: the right value, else that the failure is gone."""
    pieces = list(_pieces(text, MENDED_WITHIN))
    for piece in pieces:
        match = _RIGHT.search(piece.rstrip(END))
        if match:
            said = f"{match['what'].strip()} {match['verb']} {match['right']}, not {match['wrong']}"
            return _goal(text, said, piece)
    quote = next((piece for piece in pieces if title and piece.startswith(title)), title)
    return _goal(text, phrase.replace("{failure}", quote.rstrip(END)), quote) if quote else None


def _goal(text: ProblemText, said: str, quote: str) -> Requirement | None:
    """Return a goal with a quote; None where the quote does not stand in the text."""
    place = next((number for number, part in enumerate(text.folded_parts) if quote in part), None)
    if place is None:
        return None
    source = RequirementSource.ANSWER if place else RequirementSource.PROBLEM
    return Requirement(requirement_id(quote), str(RequirementKind.GOAL), said, quote, str(source))


def _cause(text: ProblemText, demands: list[str], patterns: RequirementPatterns) -> str:
    """Return the first cause that the text states, the plainest wording first; none for what is only wanted."""
    pieces = list(dict.fromkeys(_pieces(text, SENTENCES_READ_MAX)))
    wanted = "\n".join(demands)
    for pattern in patterns.cause_patterns:
        for piece in pieces:
            match = pattern.search(lower(piece))
            if match and piece.rstrip(END) not in wanted:
                return _SENTENCE.split(piece[match.start(1) : match.end(1)], maxsplit=1)[0].rstrip(END)
    return ""


def _pieces(text: ProblemText, limit: int) -> Iterator[str]:
    """Yield the sentences of the text, cut to the length that patterns may see."""
    for passage in text.passages:
        for sentence in passage.sentences:
            yield shorten(sentence, CLAUSE_LENGTH_MAX)
            limit -= 1
            if limit == 0:
                return
