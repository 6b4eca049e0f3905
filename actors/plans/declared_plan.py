"""Makes a plan without a model, from declared steps, or says in one line why no plan exists. Pure.

First, A* finds a path to the goal as if the planner could choose the outcome of each step (the determinised problem).
The estimate of A* is the sum of the costs of the goal's tokens if deletions are ignored. Then A* finds a path from the
state after each of the other outcomes. A path never returns to an earlier state, because a plan does not repeat a step.
"""

import heapq
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from actors.files.suggestions import closest
from actors.plans.plan import RESERVED_IDS, NamedOutcome, Plan, Step
from actors.values.format import quote_names
from runtime.core.errors import UsageProblem

STATES_MAX = 20_000
DEPTH_MAX = 150

Tokens = frozenset[str]


class Way(NamedTuple):
    """One of the ways in which a step can succeed."""

    name: str
    adds: Tokens
    deletes: Tokens
    """The tokens that the step deletes, before it adds other tokens."""

    def apply(self, state: Tokens) -> Tokens:
        """Return the state after the step has succeeded in this way."""
        return state - self.deletes | self.adds


class Candidate(NamedTuple):
    """A step that the plan may use."""

    name: str
    needs: Tokens
    ways: tuple[Way, ...]

    @property
    def cost(self) -> float:
        """The cost of the step. A step with more ways costs more, because the plan must continue after each way."""
        return 0.5 + 0.5 * len(self.ways)


_NO_ORDER = "no order of the steps reaches the whole goal"


class SearchFailed(Exception):
    """The search has found no plan. The message says why, in one line."""


Choices = Mapping[Tokens, Candidate]
"""A mapping from each state that the plan can reach before the goal to the step that the plan takes there."""


def find_choices(candidates: Sequence[Candidate], start: Tokens, goal: Tokens) -> Choices:
    """Return, for each state that the plan can reach from `start` before the goal, the step to take.

    Raises:
        SearchFailed: no path reaches the goal, or the search has reached one of the limits `STATES_MAX` and
            `DEPTH_MAX`.
    """
    search = _Search(candidates, goal)
    if not search.solve_from(start, frozenset(), ()):
        raise SearchFailed(search.reason)
    return search.chosen


class _Taken(NamedTuple):
    """A step on a path to the goal, with the way in which it succeeds on this path."""

    candidate: Candidate
    way: Way


class _Search:
    """One search for one goal."""

    def __init__(self, candidates: Sequence[Candidate], goal: Tokens) -> None:
        self.candidates, self.goal = candidates, goal
        self.chosen: dict[Tokens, Candidate] = {}
        self.reason = _NO_ORDER
        self._costs = _Costs(candidates, goal)
        self._dead: set[Tokens] = set()
        self._returns = 0
        """How often a way was given up because it returns to an earlier state."""
        self._left = STATES_MAX

    def solve_from(self, state: Tokens, above: AbstractSet[Tokens], ahead: Sequence[_Taken]) -> bool:
        """Choose a step in a state, and in all states that can follow. Return whether every way then leads to the goal.

        `above` are the states before this state. `ahead` is a known path from this state to the goal; empty if none is
        known.
        """
        if self.goal <= state or state in self.chosen:
            return True
        if state in self._dead:
            return False
        if len(above) >= DEPTH_MAX:
            raise SearchFailed(f"no plan with at most {DEPTH_MAX} steps in a row was found")
        returns, passed, refused = self._returns, above | {state}, set[str]()
        while path := ahead or self._path(state, above, refused):
            chosen, ahead = path[0], ()
            if self._solve_all(state, chosen, path[1:], passed):
                self.chosen[state] = chosen.candidate
                return True
            refused.add(chosen.candidate.name)
        if returns == self._returns:
            self._dead.add(state)
        return False

    def _solve_all(self, state: Tokens, taken: _Taken, rest: Sequence[_Taken], passed: AbstractSet[Tokens]) -> bool:
        name = taken.candidate.name
        for way in sorted(taken.candidate.ways, key=lambda item: item is not taken.way):
            after, ahead = way.apply(state), rest if way is taken.way else ()
            which = f"outcome {way.name!r} of {name!r}"
            if after in passed:
                self._returns += 1
                self.reason = f"the {which} leads back to an earlier state, but a step must not be repeated"
                return False
            if not self.solve_from(after, passed, ahead):
                if way.name and self.reason == _NO_ORDER:
                    self.reason = f"no step leads to the goal after the {which}"
                return False
        return True

    def _path(self, start: Tokens, above: AbstractSet[Tokens], refused: AbstractSet[str]) -> Sequence[_Taken]:
        """Return a path to the goal, as if the planner could choose every outcome; empty if there is no path.

        The path does not begin with a step in `refused`, and reaches no state in `above`.
        """
        tie, parents = itertools.count(), dict[Tokens, tuple[Tokens, _Taken] | None]({start: None})
        costs, open_states = {start: 0.0}, [(self._costs.to_goal(start), next(tie), start)]
        done: set[Tokens] = set()
        while open_states:
            estimate, _, state = heapq.heappop(open_states)
            if estimate is _NEVER or state in done:
                continue
            done.add(state)
            if self.goal <= state:
                return _path_to(state, parents)
            self._left -= 1
            if self._left < 0:
                raise SearchFailed(f"no plan was found in {STATES_MAX:,} states; name fewer tokens, or remove tools")
            for chosen, after in self._successors(state):
                if state == start and chosen.candidate.name in refused:
                    continue
                if after in above:
                    self._returns += 1
                    continue
                cost = costs[state] + chosen.candidate.cost
                if after in self._dead or cost >= costs.get(after, _NEVER):
                    continue
                costs[after], parents[after] = cost, (state, chosen)
                rest = self._costs.to_goal(after)
                if rest < _NEVER:
                    heapq.heappush(open_states, (cost + rest, next(tie), after))
        return ()

    def _successors(self, state: Tokens) -> Iterator[tuple[_Taken, Tokens]]:
        for candidate in self.candidates:
            if candidate.needs <= state:
                for way in candidate.ways:
                    after = way.apply(state)
                    if after != state:
                        yield _Taken(candidate, way), after


_NEVER = float("inf")


def _path_to(state: Tokens, parents: Mapping[Tokens, tuple[Tokens, _Taken] | None]) -> Sequence[_Taken]:
    path: list[_Taken] = []
    while (before := parents[state]) is not None:
        state, chosen = before
        path.append(chosen)
    return path[::-1]


class _Costs:
    """Estimates the cost from a state to a goal: the sum of the costs of the goal's tokens, ignoring deletions."""

    def __init__(self, candidates: Sequence[Candidate], goal: Tokens) -> None:
        self.goal = goal
        self._makers = [(candidate.needs, way.adds) for candidate in candidates for way in candidate.ways]
        self._free = [number for number, (needs, _) in enumerate(self._makers) if not needs]
        self._needed: dict[str, list[int]] = defaultdict(list)
        for number, (needs, _) in enumerate(self._makers):
            for token in sorted(needs):
                self._needed[token].append(number)

    def to_goal(self, state: Tokens) -> float:
        costs: dict[str, int] = {}
        unmet, sums = [len(needs) for needs, _ in self._makers], [0] * len(self._makers)
        queue = [(0, token) for token in state]
        for number in self._free:
            queue += [(1, token) for token in self._makers[number][1]]
        heapq.heapify(queue)
        wanted = len(self.goal)
        while queue and wanted:
            cost, token = heapq.heappop(queue)
            if token in costs:
                continue
            costs[token] = cost
            wanted -= token in self.goal
            for number in self._needed.get(token, ()):
                unmet[number] -= 1
                sums[number] += cost
                if not unmet[number]:
                    for made in self._makers[number][1]:
                        heapq.heappush(queue, (sums[number] + 1, made))
        return _NEVER if wanted else sum(costs[token] for token in self.goal)


GOAL = "goal"
START = "at the beginning"
"""The only token of the initial state if no other token holds at the beginning. A plan without tokens in its initial
state is rejected."""
HOLDS = "holds"
"""The place that errors about the tokens at the beginning name. It is a keyword argument of `plan_for`. Errors about
the goal have the place `GOAL`.
"""


def plan_for(
    steps: Sequence[Step], holds: AbstractSet[str], goal: AbstractSet[str], others: AbstractSet[str] = frozenset()
) -> Plan:
    """Return a plan, made from declared steps, that reaches `goal` whatever outcomes its steps have.

    The id of a declared step is the name of its generator. Several steps of the plan can have the same generator. If no
    step has several outcomes, a step waits only for its dependencies. Otherwise each step waits for the step before it.
    `others` are further tokens that hold at the beginning, which no step needs to name.

    Raises:
        UsageProblem: no step names one of the tokens in `holds` or `goal`, the goal cannot be reached, or it already
            holds. The error's place is `goal` or `holds`.
    """
    start, wanted = frozenset(holds), frozenset(goal)
    _check(steps, start, wanted)
    candidates = [_candidate(step) for step in steps]
    try:
        choices = find_choices(candidates, start, wanted)
    except SearchFailed as failed:
        cause = f"no plan reaches {quote_names(sorted(wanted))}: {failed}"
        raise UsageProblem(cause, place=GOAL, hint="change the steps in the tools file, or let a model plan") from None
    nodes = _nodes(choices, start, wanted)
    by_name = {step.generator: step for step in steps}
    new_steps = (
        _branching_steps(nodes, by_name, start | others)
        if any(len(node.next) > 1 for node in nodes)
        else _partial_order(nodes, by_name)
    )
    return Plan(
        plan_id="tools",
        goal=goal_text(wanted),
        steps=tuple(new_steps),
        initial_state=start | others or frozenset((START,)),
        goal_state=wanted,
        total_retry_budget=sum(step.retry_budget for step in new_steps),
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
    """Raise `UsageProblem` if no step names a token, or if the goal already holds or cannot be reached."""
    made_tokens = frozenset().union(*(step.may_add for step in steps))
    known = made_tokens.union(*(step.preconditions | step.may_delete for step in steps))
    for token in sorted(start - known - goal):
        hint = _suggest_name(token, known) or "remove it"
        raise UsageProblem(f"no tool declares a step with the token {token!r}", place=HOLDS, hint=hint)
    for token in sorted(goal - made_tokens - start):
        hint = _suggest_name(token, made_tokens | start) or "add the token to the `effects` of a generator's `step`"
        raise UsageProblem(f"no tool makes {token!r}", place=GOAL, hint=hint)
    if goal <= start:
        raise UsageProblem("the goal holds already, so no plan is needed", place=GOAL, hint="name another token")
    reached = _reachable_tokens(steps, start)
    if lost := sorted(goal - reached):
        causes = _roots(steps, reached, lost)
        nobody = sorted(token for token in causes if token not in made_tokens)
        why = f"nothing makes {quote_names(nobody)}" if nobody else f"{quote_names(causes)} need each other"
        hint = (
            f"add --holds {','.join(nobody)} if this holds at the beginning"
            if nobody
            else "change the preconditions of the steps that make them"
        )
        raise UsageProblem(f"no plan reaches {quote_names(lost)}, because {why}", place=GOAL, hint=hint)


def _suggest_name(token: str, known: AbstractSet[str]) -> str:
    close = closest(token, known)
    return f"did you mean {close!r}?" if close else ""


def _reachable_tokens(steps: Sequence[Step], start: Tokens) -> Tokens:
    reached, before = start, None
    while reached != before:
        before = reached
        reached = reached.union(*(step.may_add for step in steps if step.preconditions <= reached))
    return reached


def _roots(steps: Sequence[Step], reached: Tokens, lost: Sequence[str]) -> list[str]:
    lacking, new = set(lost), list(lost)
    while new:
        token = new.pop()
        needed = {
            precondition for step in steps if token in step.may_add for precondition in step.preconditions - reached
        }
        new += sorted(needed - lacking)
        lacking |= needed
    made_tokens = frozenset().union(*(step.may_add for step in steps))
    return sorted(token for token in lacking if token not in made_tokens) or sorted(lacking)


class _Node(NamedTuple):
    """A step of the plan."""

    step_id: str
    generator: str
    next: tuple[tuple[str, str], ...]
    """Pairs of an outcome and the id of the step after it. The id is empty if the goal holds after the outcome."""


def _nodes(choices: Choices, start: Tokens, goal: Tokens) -> list[_Node]:
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
    totals, counts, used_ids = Counter(names), Counter[str](), set(names) | RESERVED_IDS
    for name in names:
        if totals[name] == 1 and name not in RESERVED_IDS:
            yield name
            continue
        while True:
            counts[name] += 1
            if (new_id := f"{name}_{counts[name]}") not in used_ids:
                break
        used_ids.add(new_id)
        yield new_id


def _partial_order(nodes: Sequence[_Node], by_name: Mapping[str, Step]) -> list[Step]:
    """Return the steps of a plan without outcomes.

    A step depends, directly or indirectly, on each earlier step that must run before it.
    """
    new_steps: list[Step] = []
    after: dict[str, frozenset[str]] = {}
    for node in nodes:
        step = by_name[node.generator]._replace(step_id=node.step_id, name=node.generator)
        direct: set[str] = set()
        covered: set[str] = set()
        for before in reversed(new_steps):
            if before.step_id not in covered and _must_precede(before, step):
                direct.add(before.step_id)
                covered |= {before.step_id, *after[before.step_id]}
        after[node.step_id] = frozenset(covered)
        new_steps.append(step._replace(dependencies=frozenset(direct)))
    return new_steps


def _must_precede(before: Step, after: Step) -> bool:
    makes = before.effects & after.preconditions
    harms = before.delete_effects & (after.preconditions | after.effects)
    harmed = after.delete_effects & (before.preconditions | before.effects)
    return bool(makes or harms or harmed)


def _branching_steps(nodes: Sequence[_Node], by_name: Mapping[str, Step], start: Tokens) -> list[Step]:
    """Return the steps of a plan with outcomes. A token names the next step, so only one step is ready at a time."""
    prefix = "next: "
    while any(token.startswith(prefix) for token in start):
        prefix = f"then {prefix}"
    new_steps = []
    for node in nodes:
        step = by_name[node.generator]
        here = frozenset((f"{prefix}{node.step_id}",)) if node is not nodes[0] else frozenset[str]()
        there = {name: frozenset((f"{prefix}{then}",)) if then else frozenset[str]() for name, then in node.next}
        outcomes = tuple(
            NamedOutcome(outcome.name, outcome.effects | there[outcome.name], outcome.delete_effects)
            for outcome in step.outcomes
        )
        new_steps.append(
            step._replace(
                step_id=node.step_id,
                name=node.generator,
                preconditions=step.preconditions | here,
                effects=step.effects | (frozenset[str]() if outcomes else there[""]),
                delete_effects=step.delete_effects | here,
                outcomes=outcomes,
            )
        )
    return new_steps
