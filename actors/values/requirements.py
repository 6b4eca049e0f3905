"""Stated requirements: what a problem's text, a user or an answer demands, as values with ids of their own.

An id is made from the quote alone, so a requirement keeps its id when the facts are extracted again.
"""

import hashlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

ID_LENGTH = 8
"""Hexadecimal digits of an id: at 200 requirements a collision has a probability of about 5 in a million."""


class RequirementKind(StrEnum):
    """What a requirement demands; only a goal, and what must be avoided or kept, is planned for."""

    GOAL = "goal"  # something that is to be true at the end
    SCOPE = "scope"  # what the problem is about, and what not: shown, not planned for
    BUDGET = "budget"  # what the work may cost: shown, not planned for
    DEADLINE = "deadline"  # when it must be done: shown, not planned for
    MUST_AVOID = "must_avoid"  # something that must not happen
    MUST_KEEP = "must_keep"  # something that must stay as it is


class RequirementSource(StrEnum):
    """Where a requirement is stated."""

    PROBLEM = "problem"
    USER = "user"
    ANSWER = "answer"


class Requirement(NamedTuple):
    """One demand, with the words that state it."""

    id: str
    """Made from the quote by `requirement_id`."""
    kind: str
    """One of `RequirementKind`, as text."""
    text: str
    """What is demanded, for people and models."""
    quote: str
    """Where it is stated: words of the source, white space folded."""
    source: str = RequirementSource.PROBLEM
    """One of `RequirementSource`, as text."""


KINDS = frozenset(str(kind) for kind in RequirementKind)
"""The values of `RequirementKind`, to check JSON by."""
SOURCES = frozenset(str(source) for source in RequirementSource)
"""The values of `RequirementSource`, to check JSON by."""


def requirement_id(quote: str) -> str:
    """Return the id of the requirement that a quote states: the same for every spelling of its white space."""
    folded = " ".join(quote.split())
    return f"r_{hashlib.sha256(folded.encode('utf-8', 'replace')).hexdigest()[:ID_LENGTH]}"


def requirements_in(value: Any) -> Iterator[Requirement]:
    """Yield the requirements in a JSON list, with their ids; items that are no requirements are left out.

    Never raises. An id that the item brings is replaced: ids are made from quotes.
    """
    for item in value if isinstance(value, list | tuple) else ():
        if not isinstance(item, Mapping):
            continue
        kind, source, quote = item.get("kind"), item.get("source", RequirementSource.PROBLEM), item.get("quote")
        text = item.get("text") or quote
        if not (isinstance(quote, str) and quote.strip() and isinstance(text, str)):
            continue
        if isinstance(kind, str) and isinstance(source, str) and kind in KINDS and source in SOURCES:
            yield Requirement(requirement_id(quote), str(kind), text, quote, str(source))


def requirement_to_json(requirement: Requirement) -> dict[str, str]:
    """Return the requirement as a JSON object."""
    return {key: str(value) for key, value in requirement._asdict().items()}
