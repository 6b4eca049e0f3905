"""Makes a plan without a model from the steps that generators declare, or says in one line why it cannot. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from actors.files.suggestions import closest
from actors.plans.plan import RESERVED_IDS, NamedOutcome, Plan, Step
from actors.plans.step_search import Candidate, Choices, SearchFailed, Tokens, Way, find_choices
from actors.values.format import quote_names
from runtime.core.errors import UsageProblem

GOAL = "goal"
START = "at the beginning"
"""The token that holds at the beginning if no other does. It is needed because a plan without an initial state is
rejected.
"""
HOLDS = "holds"
"""The keywords that errors name as their place: `GOAL`, and this one for the tokens that hold at the beginning."""


def plan_for(
    steps: Sequence[Step], holds: AbstractSet[str], goal: AbstractSet[str], others: AbstractSet[str] = frozenset()
) -> Plan:
    """Return a plan, made from declared steps, that reaches `goal` whatever outcomes the steps have.

    The id of a declared step is the name of its generator. The plan may use the same generator for several steps. If no
    step has outcomes, each step waits only for the steps that it depends on; else it waits for the step before it.
    `others` are further tokens that hold at the beginning and that no step names.

    Raises:
        UsageProblem: no step names a token of `holds` or `goal`; the goal cannot be reached; or it holds already. Its
            place is `goal` or `holds`.
    """
    start, wanted = frozenset(holds), frozenset(goal)
    _check(steps, start, wanted)
    candidates = [_candidate(step) for step in steps]
    try:
        choices = find_choices(candidates, start, wanted)
    except SearchFailed as failed:
        cause = f"no plan reaches {quote_names(sorted(wanted))}: {failed}"
        raise UsageProblem(
            cause, place=GOAL, hint="change what the tools file declares, or plan with a model"
        ) from None
    nodes = _nodes(choices, start, wanted)
    by_name = {step.generator: step for step in steps}
    made = (
        _branching_steps(nodes, by_name, start | others)
        if any(len(node.next) > 1 for node in nodes)
        else _partial_order(nodes, by_name)
    )
    return Plan(
        plan_id="tools",
        goal=goal_text(wanted),
        steps=tuple(made),
        initial_state=start | others or frozenset((START,)),
        goal_state=wanted,
        total_retry_budget=sum(step.retry_budget for step in made),
    )


def goal_text(goal: AbstractSet[str]) -> str:
    """Return the goal in words."""
    return f"Reach {quote_names(sorted(goal))}."


def _candidate(step: Step) -> Candidate:
    if not step.outcomes:
        return Candidate(step.generator, step.preconditions, (Way("", step.effects, step.delete_effects),))
    ways = (
        Way(outcome.name, step.effects | outcome.effects, step.delete_effects | outcome.delete_effects)
        for outcome in step.outcomes
    )
    return Candidate(step.generator, step.preconditions, tuple(ways))


def _check(steps: Sequence[Step], start: Tokens, goal: Tokens) -> None:
    """Raise `UsageProblem` for tokens that no step names, and for a goal that holds already or cannot be reached."""
    made = frozenset().union(*(step.may_add for step in steps))
    known = made.union(*(step.preconditions | step.may_delete for step in steps))
    for token in sorted(start - known - goal):
        hint = _suggest_name(token, known) or "leave it out"
        raise UsageProblem(f"no step that a tool declares has the token {token!r}", place=HOLDS, hint=hint)
    for token in sorted(goal - made - start):
        hint = _suggest_name(token, made | start) or "add it to the `effects` of a generator's `step`"
        raise UsageProblem(f"no tool makes {token!r}", place=GOAL, hint=hint)
    if goal <= start:
        raise UsageProblem("the goal holds already, so nothing is to be planned", place=GOAL, hint="name another token")
    reached = _reachable_tokens(steps, start)
    if lost := sorted(goal - reached):
        causes = _roots(steps, reached, lost)
        nobody = sorted(token for token in causes if token not in made)
        why = f"since nothing makes {quote_names(nobody)}" if nobody else f"since {quote_names(causes)} need each other"
        hint = f"--holds {','.join(nobody)}, if that is so at the beginning" if nobody else "look at what they need"
        raise UsageProblem(f"no plan reaches {quote_names(lost)}, {why}", place=GOAL, hint=hint)


def _suggest_name(token: str, known: AbstractSet[str]) -> str:
    close = closest(token, known)
    return f"did you mean {close!r}?" if close else ""


def _reachable_tokens(steps: Sequence[Step], start: Tokens) -> Tokens:
    """Return all tokens that could hold if no step deleted any."""
    reached, before = start, None
    while reached != before:
        before = reached
        reached = reached.union(*(step.may_add for step in steps if step.preconditions <= reached))
    return reached


def _roots(steps: Sequence[Step], reached: Tokens, lost: Sequence[str]) -> list[str]:
    """Return the missing tokens because of which the `lost` tokens cannot be reached, sorted.

    These are the needed tokens that no step makes. If there are none, they are all needed tokens that cannot be
    reached.
    """
    lacking, new = set(lost), list(lost)
    while new:
        token = new.pop()
        needed = {
            precondition for step in steps if token in step.may_add for precondition in step.preconditions - reached
        }
        new += sorted(needed - lacking)
        lacking |= needed
    made = frozenset().union(*(step.may_add for step in steps))
    return sorted(token for token in lacking if token not in made) or sorted(lacking)


class _Node(NamedTuple):
    """A step of the plan."""

    step_id: str
    generator: str
    next: tuple[tuple[str, str], ...]
    """The outcomes, each with the id of the step that follows it; empty if the goal holds after the outcome."""


def _nodes(choices: Choices, start: Tokens, goal: Tokens) -> list[_Node]:
    """Return the steps that a plan may take from `start`, each before the steps that follow it."""
    order: list[Tokens] = []
    seen: set[Tokens] = set()
    todo = [(start, False)]
    while todo:  # Depth first, each state after all that follow it.
        state, left = todo.pop()
        if left:
            order.append(state)
        elif state not in seen and not goal <= state:
            seen.add(state)
            ways = choices[state].ways
            todo += [(state, True), *((way.apply(state), False) for way in ways)]
    order.reverse()
    ids = dict(zip(order, _ids([choices[state].name for state in order]), strict=True))
    return [
        _Node(
            ids[state],
            choices[state].name,
            tuple((way.name, ids.get(way.apply(state), "")) for way in choices[state].ways),
        )
        for state in order
    ]


def _ids(names: Sequence[str]) -> Iterator[str]:
    """Yield an id for each name: the name itself; if it occurs more than once, with a number added."""
    totals, counts, taken = Counter(names), Counter[str](), set(names) | RESERVED_IDS
    for name in names:
        if totals[name] == 1 and name not in RESERVED_IDS:
            yield name
            continue
        while True:
            counts[name] += 1
            if (made := f"{name}_{counts[name]}") not in taken:
                break
        taken.add(made)
        yield made


def _partial_order(nodes: Sequence[_Node], by_name: Mapping[str, Step]) -> list[Step]:
    """Return the steps of a plan without outcomes.

    Each depends on the earlier steps with which it may not be swapped.
    """
    made: list[Step] = []
    after: dict[str, frozenset[str]] = {}
    for node in nodes:
        step = by_name[node.generator]._replace(step_id=node.step_id, name=node.generator)
        direct: set[str] = set()
        covered: set[str] = set()
        for before in reversed(made):
            if before.step_id not in covered and _must_precede(before, step):
                direct.add(before.step_id)
                covered |= {before.step_id, *after[before.step_id]}
        after[node.step_id] = frozenset(covered)
        made.append(step._replace(dependencies=frozenset(direct)))
    return made


def _must_precede(before: Step, after: Step) -> bool:
    """Tell whether `before` must stay before `after`."""
    makes = before.effects & after.preconditions
    harms = before.delete_effects & (after.preconditions | after.effects)
    harmed = after.delete_effects & (before.preconditions | before.effects)
    return bool(makes or harms or harmed)


def _branching_steps(nodes: Sequence[_Node], by_name: Mapping[str, Step], start: Tokens) -> list[Step]:
    """Return the steps of a plan with outcomes. Tokens say which step is next, so only one step is ready at a time."""
    prefix = "next: "
    while any(token.startswith(prefix) for token in start):
        prefix = f"then {prefix}"
    made = []
    for node in nodes:
        step = by_name[node.generator]
        here = frozenset((f"{prefix}{node.step_id}",)) if node is not nodes[0] else frozenset[str]()
        there = {name: frozenset((f"{prefix}{then}",)) if then else frozenset[str]() for name, then in node.next}
        outcomes = tuple(
            NamedOutcome(outcome.name, outcome.effects | there[outcome.name], outcome.delete_effects)
            for outcome in step.outcomes
        )
        made.append(
            step._replace(
                step_id=node.step_id,
                name=node.generator,
                preconditions=step.preconditions | here,
                effects=step.effects | (frozenset[str]() if outcomes else there[""]),
                delete_effects=step.delete_effects | here,
                outcomes=outcomes,
            )
        )
    return made
