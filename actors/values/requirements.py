"""Requirements and strategies, as later steps read them from artifacts.

A requirement is something that a problem's text, a user or an answer demands. Its id is made only from the quote, so it
keeps its id when the facts are extracted again.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
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


class StatedLimit(NamedTuple):
    """A limit that a requirement states, such as a price or a date."""

    name: str
    """What is limited, in a short name that is the same wherever the same thing is limited."""
    value: str
    """The value with its unit, as text."""


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
    tokens: tuple[str, ...] = ()
    """Tokens of the plan: of a goal those that hold once it is reached; else those that must, or must not, hold."""
    depends_on: tuple[str, ...] = ()
    """Of a goal: the ids of the goals that must be reached before it."""
    tools: tuple[str, ...] = ()
    """Names of generators and guards that no step may use; only of what must be avoided."""
    paths: tuple[str, ...] = ()
    """Files and folders that may not be changed, as stated; an execution compares them."""
    conflicts_with: tuple[str, ...] = ()
    """Ids or quotes of the requirements that cannot hold together with it."""
    limit: StatedLimit | None = None
    """The limit that it states; None where it states none."""
    readings: tuple[str, ...] = ()
    """What the quote may mean, where it allows several meanings that lead to different plans; `text` goes by one."""

    @property
    def ambiguous(self) -> bool:
        """Whether its quote has more than one reading, as its author states."""
        return len(set(self.readings)) > 1


KINDS = frozenset(str(kind) for kind in RequirementKind)
"""The values of `RequirementKind`, to check JSON by."""
SOURCES = frozenset(str(source) for source in RequirementSource)
"""The values of `RequirementSource`, to check JSON by."""


_LISTS = ("tokens", "depends_on", "tools", "paths", "conflicts_with", "readings")
"""The optional fields that are lists of texts."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_SENTENCE_MAX = 400
"""Characters of a sentence that serves as a goal."""


def requirement_id(quote: str) -> str:
    """Return the id of the requirement that a quote states: the same for every spelling of its white space."""
    folded = " ".join(quote.split())
    return f"r_{hashlib.sha256(folded.encode('utf-8', 'replace')).hexdigest()[:ID_LENGTH]}"


def requirements_in(value: Any) -> Iterator[Requirement]:
    """Yield the requirements in a JSON list, with their ids; items that are no requirements are left out.

    Never raises. An id that the item brings is replaced: ids are made from quotes. An optional field of another type is
    empty.
    """
    for item in value if isinstance(value, list | tuple) else ():
        if not isinstance(item, Mapping):
            continue
        kind, source, quote = item.get("kind"), item.get("source", RequirementSource.PROBLEM), item.get("quote")
        text = item.get("text") or quote
        if not (isinstance(quote, str) and quote.strip() and isinstance(text, str)):
            continue
        if isinstance(kind, str) and isinstance(source, str) and kind in KINDS and source in SOURCES:
            lists = {name: _texts(item.get(name)) for name in _LISTS if item.get(name)}
            limit = _limit(item.get("limit"))
            yield Requirement(requirement_id(quote), str(kind), text, quote, str(source), **lists, limit=limit)


def own_ids(value: Any) -> dict[str, str]:
    """Return the ids made from quotes by the ids that the requirements in a JSON list bring, where the two differ.

    An author who has not seen the made ids refers to requirements by ids of its own. Never raises.
    """
    made_ids = {
        own: item.id
        for raw in (value if isinstance(value, list | tuple) else ())
        for item in requirements_in([raw])
        if isinstance(own := raw.get("id"), str) and own != item.id
    }
    taken = set(made_ids.values())
    return {own: name for own, name in made_ids.items() if own not in taken}


def _texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a list that are not blank; none for any other value."""
    items = value if isinstance(value, list | tuple) else ()
    return tuple(item for item in items if isinstance(item, str) and item.strip())


def _limit(value: Any) -> StatedLimit | None:
    name, amount = (value.get("name"), value.get("value")) if isinstance(value, Mapping) else (None, None)
    if isinstance(amount, int | float) and not isinstance(amount, bool) and abs(amount) < 10**18:
        amount = f"{amount:.17g}"
    if isinstance(name, str) and isinstance(amount, str) and name.strip() and amount.strip():
        return StatedLimit(name, amount)
    return None


def requirement_to_json(requirement: Requirement) -> dict[str, Any]:
    """Return the requirement as a JSON object, without optional fields that are empty."""
    value: dict[str, Any] = {name: getattr(requirement, name) for name in ("id", "kind", "text", "quote", "source")}
    value |= {name: list(items) for name in _LISTS if (items := getattr(requirement, name))}
    if requirement.limit is not None:
        value["limit"] = requirement.limit._asdict()
    return value


def fallback_goal(texts: Iterable[str]) -> Requirement | None:
    """Return the goal of a problem that states none: the first sentence of its texts; None where none has a word."""
    for text in texts:
        for sentence in _SENTENCE_END.split(text[: 10 * _SENTENCE_MAX]):
            quote = " ".join(sentence.split())[:_SENTENCE_MAX]
            if any(sign.isalpha() for sign in quote):
                return Requirement(requirement_id(quote), str(RequirementKind.GOAL), quote, quote)
    return None


KEY_STEPS = "key_steps"
"""The field of the key steps: texts, or objects with an `id` and a `text`."""
EVIDENCE = "evidence"
"""The optional field of the names that the strategy relies on: files, interfaces and tests that exist already."""
FOR_TYPE = "for_type"
"""The optional field of the problem type that the strategy is for."""
ITEMS_MAX = 1_000
"""The most key steps, and the most items of evidence, that are read."""


class KeyStep(NamedTuple):
    """One of the main steps of a strategy."""

    id: str
    """The id by which a plan's steps refer to it, unique within the strategy; empty for a step without an id."""
    text: str
    """What is to be done, in words."""


def key_step(item: Any) -> KeyStep | None:
    """Return the key step that an item of the list states; None for a value of another form. Never raises."""
    if isinstance(item, str):
        return KeyStep("", item) if item.strip() else None
    if not isinstance(item, Mapping):
        return None
    name, text = item.get("id"), item.get("text")
    if isinstance(name, str) and isinstance(text, str) and name.strip() and text.strip():
        return KeyStep(name.strip(), text)
    return None


def key_steps_in(strategy: Any) -> Iterator[KeyStep]:
    """Yield the key steps of a strategy's JSON object, in order; items of another form are left out. Never raises."""
    items = strategy.get(KEY_STEPS) if isinstance(strategy, Mapping) else None
    for item in items[:ITEMS_MAX] if isinstance(items, list) else ():
        step = key_step(item)
        if step is not None:
            yield step


def evidence_in(strategy: Any) -> Iterator[str]:
    """Yield the names that a strategy's JSON object relies on, in order; other values are left out. Never raises."""
    items = strategy.get(EVIDENCE) if isinstance(strategy, Mapping) else None
    for item in items[:ITEMS_MAX] if isinstance(items, list) else ():
        if isinstance(item, str) and item.strip():
            yield item
