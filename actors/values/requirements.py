"""Requirements and strategies, as later steps read them from artifacts.

A requirement is something that the problem, a later message of the user, or an answer demands. A requirement quotes the
words that demand it. Its id is computed only from this quote, so the id stays the same if a model extracts the
requirement again.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

ID_LENGTH = 8
"""How many hexadecimal digits the id of a requirement has. Among 200 requirements, two ids are equal with a probability
of about 5 in a million."""


class RequirementKind(StrEnum):
    """The kinds of requirements.

    Plans must cover goals, prohibitions and things to keep; the other kinds are only shown.
    """

    GOAL = "goal"  # something that must be true at the end
    SCOPE = "scope"  # what belongs to the work, and what does not
    BUDGET = "budget"  # the cost of the work
    DEADLINE = "deadline"  # the time of its end
    MUST_AVOID = "must_avoid"  # something that must not happen
    MUST_KEEP = "must_keep"  # something that must not change


class RequirementSource(StrEnum):
    """Where a requirement is stated."""

    PROBLEM = "problem"
    USER = "user"
    ANSWER = "answer"


POLICY = "The text is a policy or a manual and asks for no work, so its rules are not counted as demands."
"""The value of `DemandReading.unread` for a text that is a policy or a manual."""


DemandPlace = tuple[RequirementKind, int, int]
"""The place of a demand in a text: the kind of the demand, and the offsets, in characters, at which the demand begins
and ends."""


class StatedLimit(NamedTuple):
    """A limit that a requirement states, such as a price or a date."""

    name: str
    """A short name of the thing that is limited. Two limits of the same thing have the same name."""
    value: str
    """The value with its unit, as text."""


class Requirement(NamedTuple):
    """Something that is demanded, with a quote of the words that demand it."""

    id: str
    """The id, which `requirement_id` makes from the quote."""
    kind: str
    """The kind, a value of `RequirementKind`."""
    text: str
    """The demand in words, for people and models."""
    quote: str
    """The words of the source that state the demand, with white space normalised."""
    source: str = RequirementSource.PROBLEM
    """The source, a value of `RequirementSource`."""
    tokens: tuple[str, ...] = ()
    """Tokens of the plan. For a goal, tokens that hold when the goal is reached; for other kinds, tokens that must stay
    true or must not be made.
    """
    depends_on: tuple[str, ...] = ()
    """The ids of the goals that must be reached before this goal; only for a goal."""
    tools: tuple[str, ...] = ()
    """Names of generators and guards that no step may use; only for `must_avoid`."""
    paths: tuple[str, ...] = ()
    """Files and folders that must not change, in the user's words. An execution checks that they did not change."""
    conflicts_with: tuple[str, ...] = ()
    """Ids or quotes of the requirements that cannot hold together with this requirement."""
    limit: StatedLimit | None = None
    """The limit that the requirement states; None if it states no limit."""
    readings: tuple[str, ...] = ()
    """The possible meanings of an ambiguous quote, if they lead to different plans. `text` has one of these meanings.
    """

    @property
    def ambiguous(self) -> bool:
        """Whether `readings` has at least two different meanings."""
        return len(set(self.readings)) > 1


KINDS = frozenset(str(kind) for kind in RequirementKind)
"""The values of `RequirementKind` as texts. A requirement's JSON object must have one of them as its `kind`."""
SOURCES = frozenset(str(source) for source in RequirementSource)
"""The values of `RequirementSource` as texts. A requirement's JSON object must have one of them as its `source`."""


_LISTS = ("tokens", "depends_on", "tools", "paths", "conflicts_with", "readings")
"""The optional fields of a requirement's JSON object that are lists of texts."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_SENTENCE_MAX = 400


def requirement_id(quote: str) -> str:
    """Return the id of a requirement with this quote. White space in the quote does not change the id."""
    folded = " ".join(quote.split())
    return f"r_{hashlib.sha256(folded.encode('utf-8', 'replace')).hexdigest()[:ID_LENGTH]}"


class Demand(NamedTuple):
    """Something that a user's text asks for. The program finds demands without a model."""

    id: str
    """The id that `requirement_id` makes from the quote. A requirement with the same quote has the same id."""
    kind: RequirementKind
    quote: str
    """The words of the source, with white space normalised."""
    source: RequirementSource
    start: int
    """The offset of the demand's beginning in the source text, in characters."""
    end: int


def demand_at(text: str, kind: RequirementKind, source: RequirementSource, start: int, end: int) -> Demand:
    """Return the demand whose words are `text[start:end]`."""
    quote = " ".join(text[start:end].split())
    return Demand(requirement_id(quote), kind, quote, source, start, end)


class DemandReading(NamedTuple):
    """The demands that were found in a text, and which parts of the text were not read."""

    demands: tuple[Demand, ...]
    unread: str
    """Sentences that say which parts were not read, and why; empty if everything was read."""


def requirements_in(value: Any) -> Iterator[Requirement]:
    """Yield the requirements in a JSON list. Items that are not requirements are skipped. Never raises.

    The id of each requirement is made from its quote; an id in the list is ignored. If an optional field has a wrong
    type, the field is empty.
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
    """Return a mapping from the ids of requirements in a model's JSON list to the ids made from their quotes.

    A model cannot compute the ids made from quotes, so it refers to requirements by its own ids. The mapping has no ids
    that are already made from quotes. Never raises.
    """
    made_ids = {
        own: item.id
        for raw in (value if isinstance(value, list | tuple) else ())
        for item in requirements_in([raw])
        if isinstance(own := raw.get("id"), str) and own != item.id
    }
    used_ids = set(made_ids.values())
    return {own: name for own, name in made_ids.items() if own not in used_ids}


def _texts(value: Any) -> tuple[str, ...]:
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
    """Return the requirement as a JSON object, without empty optional fields."""
    value: dict[str, Any] = {name: getattr(requirement, name) for name in ("id", "kind", "text", "quote", "source")}
    value |= {name: list(items) for name in _LISTS if (items := getattr(requirement, name))}
    if requirement.limit is not None:
        value["limit"] = requirement.limit._asdict()
    return value


def fallback_goal(texts: Iterable[str]) -> Requirement | None:
    """Return the first sentence that has words, as the goal of a problem without a goal; None if none has words."""
    for text in texts:
        for sentence in _SENTENCE_END.split(text[: 10 * _SENTENCE_MAX]):
            quote = " ".join(sentence.split())[:_SENTENCE_MAX]
            if any(sign.isalpha() for sign in quote):
                return Requirement(requirement_id(quote), str(RequirementKind.GOAL), quote, quote)
    return None


KEY_STEPS = "key_steps"
"""The field of a strategy that lists its key steps. Each key step is a text, or an object with an `id` and a `text`."""
EVIDENCE = "evidence"
"""The optional field of a strategy that lists the names of existing files, interfaces and tests on which the strategy
relies."""
FOR_TYPE = "for_type"
"""The optional field of a strategy that names the type of problem for which the strategy is made."""
ITEMS_MAX = 1_000


class KeyStep(NamedTuple):
    """One of the main steps of a strategy."""

    id: str
    """The id by which a plan's steps name the key step. The id is unique in the strategy, or empty if the key step has
    none.
    """
    text: str
    """What the step does, in words."""


def key_step(item: Any) -> KeyStep | None:
    """Return an item of `key_steps` as a key step; None if the item is not valid. Never raises."""
    if isinstance(item, str):
        return KeyStep("", item) if item.strip() else None
    if not isinstance(item, Mapping):
        return None
    name, text = item.get("id"), item.get("text")
    if isinstance(name, str) and isinstance(text, str) and name.strip() and text.strip():
        return KeyStep(name.strip(), text)
    return None


def key_steps_in(strategy: Any) -> Iterator[KeyStep]:
    """Yield the key steps of a strategy's JSON object, in order. Items that are not valid are skipped. Never raises."""
    items = strategy.get(KEY_STEPS) if isinstance(strategy, Mapping) else None
    for item in items[:ITEMS_MAX] if isinstance(items, list) else ():
        step = key_step(item)
        if step is not None:
            yield step


def evidence_in(strategy: Any) -> Iterator[str]:
    """Yield the names in the field `evidence` of a strategy's JSON object, in order. Other items are skipped.

    Never raises.
    """
    items = strategy.get(EVIDENCE) if isinstance(strategy, Mapping) else None
    for item in items[:ITEMS_MAX] if isinstance(items, list) else ():
        if isinstance(item, str) and item.strip():
            yield item
