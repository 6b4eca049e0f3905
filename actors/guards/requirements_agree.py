"""`requirements_agree`: the requirements that recon states can hold together, and there is a goal.

Four conflicts can be decided without understanding a text: recon declares one, the same name is wanted and forbidden,
one limit has two values, or two sentences of the user contradict each other by their words, whether recon states them
or not. Each is a question to the user. One that was asked before is a warning, since the user has
had the word: what was answered later holds. A requirement whose quote does not stand in the user's texts is in none of
them: it is invented, and a person could say nothing about it.

A requirement is ambiguous where recon states several readings of its quote, where two sentences of the user differ in
nothing but a number or a date, and where one leaves a value open ("within TBD days"). That is a question too, as long
as the step may ask: else recon's own reading, or the stricter sentence, is assumed, which the table of demands shows.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from actors.demands.contradictions import open_value
from actors.demands.demand import Demand
from actors.demands.user_texts import BOTH, NEITHER, READING, demands_of, user_texts_in
from actors.guards.comparison import object_of, same_name, verdict_of, was_asked
from actors.guards.fields import ITEMS_MAX, check_settings
from actors.guards.port import Guard
from actors.guards.recon import ItemSearch
from actors.values.answers import TEXT
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from actors.values.open_questions import CHOICE_LENGTH_MAX
from actors.values.question_form import Inquiry, inquiry, one_line
from actors.values.requirements import Requirement, RequirementKind, RequirementSource, fallback_goal, requirements_in

NAME = "requirements_agree"
CONTRADICTIONS_MAX = 3
"""Pairs of contradicting sentences that are asked about at once; the others follow once these are answered."""
OPEN_VALUES_MAX = 3
"""Sentences with an open value that are asked about at once, likewise."""
READINGS_MAX = 8
"""Readings of one passage that are offered."""
_Pair = tuple[str, Requirement, Requirement, str]
"""The place of a conflict, the two requirements, and why not both can hold."""
_LATER = (RequirementSource.PROBLEM, RequirementSource.USER, RequirementSource.ANSWER)
"""The sources of requirements; where two state one limit, the later source is right."""


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard; it has no settings."""
    check_settings(NAME, config, ())

    def guard(artifact: Artifact, context: Context) -> Verdict:
        value, findings = object_of(artifact)
        stated: list[Requirement] = []
        if value is not None and isinstance(value.get("requirements"), list):
            stated = _quoted(requirements_in(value["requirements"][:ITEMS_MAX]), context)
            findings += disagreements(stated, context)
        return verdict_of(NAME, findings, len(stated))

    return guard


def disagreements(stated: Sequence[Requirement], context: Context) -> Iterator[Finding]:
    """Yield a finding for each conflict among requirements, and one if there is no goal at all."""
    for where, one, other, what in (*_declared(stated), *_wanted_and_forbidden(stated), *_two_values(stated)):
        yield _found(Code.CONFLICT, where, which_holds(one, other, what), context)
    for wanted, against in _contradicting(stated, context):
        yield _found(Code.CONFLICT, wanted.id, which_holds(wanted, against, "they contradict each other"), context)
    for where, asked in _ambiguous(stated, context):
        yield _found(Code.AMBIGUOUS, where, asked, context)
    if not any(item.kind == RequirementKind.GOAL for item in stated) and fallback_goal(context.user_texts) is None:
        question = "What is to be true when the work is done, as the problem states no goal?"
        yield _found(Code.REQUIREMENT_MISSING, "requirements", inquiry(question), context)


def _quoted(stated: Iterable[Requirement], context: Context) -> list[Requirement]:
    """Return the requirements whose quotes stand in the user's texts, as far as `recon_valid` searches them."""
    search = ItemSearch(context)
    return [item for item in stated if search.finds(item.quote) is not False]


def which_holds(
    one: Requirement | Demand, other: Requirement | Demand, what: str, *, can_both: bool = False
) -> Inquiry:
    """Return the question which of two requirements, or of two demands, holds; `what` says why it is open.

    `can_both` says that both of them can be met.
    """
    quotes = list(dict.fromkeys(one_line(item.quote, CHOICE_LENGTH_MAX) for item in (one, other)))
    choices = dict.fromkeys(quotes, "This one holds, and the other is dropped.")
    text = f"Which of the two holds, as {what}?"
    shown = f"- {one_line(one.quote)}\n- {one_line(other.quote)}"
    if len(quotes) < 2 or not all(quotes):
        return inquiry(text, shown=shown)
    both = {BOTH: "Both hold, so that the stricter one decides."} if can_both else {}
    offered = {**choices, **both, NEITHER: "Neither is asked for any more."}
    return inquiry(text, shown=shown, choices=offered, schema=TEXT)


def which_reading(item: Requirement) -> Inquiry:
    """Return the question which reading of a requirement's quote is meant."""
    readings = list(dict.fromkeys(one_line(each, CHOICE_LENGTH_MAX) for each in item.readings))[:READINGS_MAX]
    return inquiry(
        READING,
        shown=f"- {one_line(item.quote)}",
        choices={each: "The passage is taken in this sense." for each in readings if each},
        schema=TEXT,
    )


def _found(code: Code, where: str, asked: Inquiry, context: Context) -> Finding:
    assumed = code == Code.AMBIGUOUS and not context.settings.get("may_ask", True)
    severity: Literal["error", "warning"] = "warning" if assumed or was_asked(context, asked.whole) else "error"
    return Finding(code=code, message=asked.whole, where=where, severity=severity, asks=asked)


def _declared(stated: Sequence[Requirement]) -> Iterator[_Pair]:
    """Yield each pair that recon declares to conflict."""
    by_name = {name: item for item in stated for name in (item.id, same_name(item.quote))}
    seen: set[frozenset[str]] = set()
    for item in stated:
        for name in item.conflicts_with:
            other = by_name.get(name) or by_name.get(same_name(name))
            if other is None or other.id == item.id or frozenset((item.id, other.id)) in seen:
                continue
            seen.add(frozenset((item.id, other.id)))
            yield item.id, item, other, "they contradict each other"


def _contradicting(stated: Sequence[Requirement], context: Context) -> list[tuple[Demand, Demand]]:
    """Return the demands of the user's texts that contradict each other, but for those that recon declares to.

    The later text is right without a question, and an answer settles a pair.
    """
    by_quote = {same_name(item.quote): item for item in stated}
    declared = {frozenset(map(same_name, (item.quote, *item.conflicts_with))) for item in stated if item.conflicts_with}
    ids = {item.id: same_name(item.quote) for item in stated}
    found = []
    for pair in demands_of(user_texts_in(context)).open_pairs:
        names = {same_name(demand.quote) for demand in pair}
        known = any(names <= {ids.get(name, name) for name in each} for each in declared)
        if not (known and names <= by_quote.keys()):
            found.append(pair)
    return found[:CONTRADICTIONS_MAX]


def _open_values(context: Context) -> list[tuple[str, Inquiry]]:
    """Return the ids of sentences of the user that leave a value open, with the questions; the new ones come first."""
    asked = []
    for said in demands_of(user_texts_in(context)).holding:
        if words := open_value(said.demand):
            text = f"What is to stand in place of '{words}' in the sentence below, which leaves it open?"
            asked.append((said.demand.id, inquiry(text, shown=one_line(said.demand.quote))))
    asked.sort(key=lambda pair: was_asked(context, pair[1].whole))
    return asked[:OPEN_VALUES_MAX]


def _ambiguous(stated: Sequence[Requirement], context: Context) -> Iterator[tuple[str, Inquiry]]:
    """Yield the place and the question of each ambiguous requirement, and of each pair of sentences that is one."""
    for item in stated:
        if item.ambiguous:
            yield item.id, which_reading(item)
    two_values = [{one.quote, other.quote} for _, one, other, _ in _two_values(stated)]
    pairs = [
        (one.id, which_holds(one, other, why, can_both=True))
        for one, other, why in demands_of(user_texts_in(context)).unclear_pairs
        if {one.quote, other.quote} not in two_values
    ]
    yield from sorted(pairs, key=lambda pair: was_asked(context, pair[1].whole))[:CONTRADICTIONS_MAX]
    yield from _open_values(context)


def _wanted_and_forbidden(stated: Sequence[Requirement]) -> Iterator[_Pair]:
    """Yield each goal that has a name or a text that another requirement forbids, with that one."""
    forbidden: dict[str, Requirement] = {}
    for item in stated:
        if item.kind == RequirementKind.MUST_AVOID:
            forbidden |= dict.fromkeys(map(same_name, (item.text, *item.tokens)), item)
    for item in stated:
        if item.kind != RequirementKind.GOAL:
            continue
        other = next((forbidden[name] for name in map(same_name, (item.text, *item.tokens)) if name in forbidden), None)
        if other is not None and _rank(item) == _rank(other):
            yield item.id, item, other, "one wants what the other forbids"


def _two_values(stated: Sequence[Requirement]) -> Iterator[_Pair]:
    """Yield two requirements for each limit that has two values from the latest source that states it."""
    limits: dict[str, list[Requirement]] = defaultdict(list)
    for item in stated:
        if item.limit is not None:
            limits[same_name(item.limit.name)].append(item)
    for items in limits.values():
        latest = max(map(_rank, items))
        first, *others = [item for item in items if _rank(item) == latest]
        for other in others:
            assert first.limit is not None
            assert other.limit is not None
            if same_name(first.limit.value) != same_name(other.limit.value):
                yield first.id, first, other, "they give one limit two values"
                break


def _rank(item: Requirement) -> int:
    """Return how late the source of a requirement is: the problem comes first, and answers last."""
    return _LATER.index(RequirementSource(item.source))
