"""`requirements_agree`: the requirements in recon do not contradict each other, and at least one is a goal.

The guard finds three kinds of conflicts: recon declares a conflict (`conflicts_with`), one requirement forbids what
another requires, or one limit has two values. A requirement whose quote is not in the user's texts is ignored. For each
conflict, the user is asked a question. If the question was asked before, the conflict is only a warning.

A requirement is ambiguous if recon states several readings of its quote, or if a sentence of the user leaves a value
open ("within TBD days"). If the step may ask, the user is also asked about each ambiguity. Otherwise the run uses
recon's reading, and the table of demands shows this reading.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from actors.demands.user_texts import (
    HOLDS,
    NEITHER,
    QUOTE_MARK,
    READING,
    demands_of,
    open_value,
    user_texts_in,
)
from actors.guards.fields import ITEMS_MAX, comparable_name, object_of, verdict_of, was_asked, without_settings
from actors.guards.recon import ItemSearch
from actors.values.answers import TEXT
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from actors.values.open_questions import CHOICE_LENGTH_MAX
from actors.values.question_form import Inquiry, inquiry, one_line
from actors.values.requirements import Requirement, RequirementKind, RequirementSource, fallback_goal, requirements_in

NAME = "requirements_agree"
OPEN_VALUES_MAX = 3
"""The guard asks about at most this many sentences with an open value at once. It asks about further sentences after
the answers.
"""
READINGS_MAX = 8
_Pair = tuple[str, Requirement, Requirement, str]
"""The place of a conflict, the two requirements, and the reason why they cannot both hold."""
_LATER = (RequirementSource.PROBLEM, RequirementSource.USER, RequirementSource.ANSWER)
"""The sources of requirements, from the earliest to the latest. If two sources state the same limit, the limit of the
later source holds."""


def _judge_agreement(artifact: Artifact, context: Context) -> Verdict:
    value, findings = object_of(artifact)
    stated: list[Requirement] = []
    if value is not None and isinstance(value.get("requirements"), list):
        stated = _quoted_requirements(requirements_in(value["requirements"][:ITEMS_MAX]), context)
        findings += disagreements(stated, context)
    return verdict_of(NAME, findings, len(stated))


def disagreements(stated: Sequence[Requirement], context: Context) -> Iterator[Finding]:
    """Yield a finding for each conflict and each ambiguity, and a finding if no goal is stated."""
    for where, one, other, what in (
        *_declared_conflicts(stated),
        *_contradicted_goals(stated),
        *_find_conflicting_limits(stated),
    ):
        yield _conflict_finding(Code.CONFLICT, where, _conflict_question(one, other, what), context)
    for where, asked in _find_ambiguities(stated, context):
        yield _conflict_finding(Code.AMBIGUOUS, where, asked, context)
    if not any(item.kind == RequirementKind.GOAL for item in stated) and fallback_goal(context.user_texts) is None:
        question = "The problem states no goal, so what should be true when the work is done?"
        yield _conflict_finding(Code.REQUIREMENT_MISSING, "requirements", inquiry(question), context)


def _quoted_requirements(stated: Iterable[Requirement], context: Context) -> list[Requirement]:
    """Return the requirements, without those whose quote is not in the user's texts.

    A quote that was not searched for counts as present.
    """
    search = ItemSearch(context)
    return [item for item in stated if search.finds(item.quote) is not False]


def _conflict_question(one: Requirement, other: Requirement, what: str) -> Inquiry:
    quotes = list(dict.fromkeys(one_line(item.quote, CHOICE_LENGTH_MAX) for item in (one, other)))
    text = f"{HOLDS}, as {what}?"
    shown = "\n".join(f"{QUOTE_MARK}{one_line(item.quote)}" for item in (one, other))
    if len(quotes) < 2 or not all(quotes):
        return inquiry(text, shown=shown)
    choices = dict.fromkeys(quotes, "This requirement holds, and the other requirement is dropped.")
    return inquiry(text, shown=shown, choices={**choices, NEITHER: "Both requirements are dropped."}, schema=TEXT)


def _reading_question(item: Requirement) -> Inquiry:
    readings = list(dict.fromkeys(one_line(reading, CHOICE_LENGTH_MAX) for reading in item.readings))[:READINGS_MAX]
    return inquiry(
        READING,
        shown=f"- {one_line(item.quote)}",
        choices={reading: "The passage has this meaning." for reading in readings if reading},
        schema=TEXT,
    )


def _conflict_finding(code: Code, where: str, asked: Inquiry, context: Context) -> Finding:
    assumed = code == Code.AMBIGUOUS and not context.settings.get("may_ask", True)
    severity: Literal["error", "warning"] = "warning" if assumed or was_asked(context, asked.whole) else "error"
    return Finding(code=code, message=asked.whole, where=where, severity=severity, asks=asked)


def _declared_conflicts(stated: Sequence[Requirement]) -> Iterator[_Pair]:
    by_name = {name: item for item in stated for name in (item.id, comparable_name(item.quote))}
    seen: set[frozenset[str]] = set()
    for item in stated:
        for name in item.conflicts_with:
            other = by_name.get(name) or by_name.get(comparable_name(name))
            if other is None or other.id == item.id or frozenset((item.id, other.id)) in seen:
                continue
            seen.add(frozenset((item.id, other.id)))
            yield item.id, item, other, "they contradict each other"


def _open_value_questions(context: Context) -> list[tuple[str, Inquiry]]:
    questions = []
    for demand in demands_of(user_texts_in(context)).holding:
        if words := open_value(demand.demand):
            text = f"Which value should replace '{words}' in the sentence below?"
            questions.append((demand.demand.id, inquiry(text, shown=one_line(demand.demand.quote))))
    questions.sort(key=lambda pair: was_asked(context, pair[1].whole))
    return questions[:OPEN_VALUES_MAX]


def _find_ambiguities(stated: Sequence[Requirement], context: Context) -> Iterator[tuple[str, Inquiry]]:
    for item in stated:
        if item.ambiguous:
            yield item.id, _reading_question(item)
    yield from _open_value_questions(context)


def _contradicted_goals(stated: Sequence[Requirement]) -> Iterator[_Pair]:
    """Yield each goal whose name or text another requirement forbids, together with the other requirement."""
    forbidden: dict[str, Requirement] = {}
    for item in stated:
        if item.kind == RequirementKind.MUST_AVOID:
            forbidden |= dict.fromkeys(map(comparable_name, (item.text, *item.tokens)), item)
    for item in stated:
        if item.kind != RequirementKind.GOAL:
            continue
        other = next(
            (forbidden[name] for name in map(comparable_name, (item.text, *item.tokens)) if name in forbidden), None
        )
        if other is not None and _rank(item) == _rank(other):
            yield item.id, item, other, "one requires what the other forbids"


def _find_conflicting_limits(stated: Sequence[Requirement]) -> Iterator[_Pair]:
    limits: dict[str, list[Requirement]] = defaultdict(list)
    for item in stated:
        if item.limit is not None:
            limits[comparable_name(item.limit.name)].append(item)
    for items in limits.values():
        latest = max(map(_rank, items))
        first, *others = [item for item in items if _rank(item) == latest]
        for other in others:
            assert first.limit is not None
            assert other.limit is not None
            if comparable_name(first.limit.value) != comparable_name(other.limit.value):
                yield first.id, first, other, "they give two values for one limit"
                break


def _rank(item: Requirement) -> int:
    """Return a number for the age of a requirement's source: 0 for the problem, 1 for later messages, 2 for answers."""
    return _LATER.index(RequirementSource(item.source))


make = without_settings(NAME, _judge_agreement)
