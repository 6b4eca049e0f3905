"""`plan_expansive`: no sequence of successes and failures (trace) leads to a dead end or breaks an invariant.

The plan must also have the `assurance` that the guard's settings demand. The time is exponential in the worst case, so
the exploration visits at most `max_explorations` configurations. If this limit is reached, the plan is rejected as not
verified.

If a step with `on_failure: undo` fails, the steps before it are undone. A second search looks for steps without an
`undo` that can run before such a failure. This search visits every interleaving of the steps. It cannot use the
reductions of `actors.plans.exploration`, which keep the ends of all traces, but not all orders of the steps. The search
is skipped if the dependencies show that no such step can run before the failure.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from actors.guards.plan_medium import Soundness, check_soundness
from actors.guards.plan_minimal import check_structure
from actors.guards.plan_settings import (
    ASSURANCES,
    WORKFLOW_SETTINGS,
    Settings,
    plan_verdict,
    read_settings,
    sort_findings,
)
from actors.guards.port import Guard, GuardDefinition
from actors.plans.exploration import BrokenInvariant, DeadEnd, Exploration, explore_plan
from actors.plans.graph import StepOrder, bits
from actors.plans.plan import IRREVERSIBLE, UNDO, Invariant, Plan
from actors.plans.reductions import OutOfWork, WorkLeft
from actors.plans.semantics import (
    FAIL,
    OK,
    Configuration,
    Program,
    after_failure,
    after_success,
    compile_plan,
    is_ready,
    replay,
    trace_item,
)
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from actors.values.format import ITEMS_MAX, printable, quote_names

Called = tuple[Configuration, int]
"""A configuration, and the bit set of the steps without an `undo` that were called on the way to it."""


class UndoGap(NamedTuple):
    """A step without an `undo` that may have been called before everything is undone."""

    step: str
    failing: str
    """The id of the step whose failure undoes everything. The id can be the same as `step`."""
    trace: tuple[str, ...]
    """A shortest trace to the failure, which is its last item."""


@dataclass(frozen=True, slots=True)
class UndoCoverage:
    """The gaps that the search found, and whether the search was complete."""

    gaps: tuple[UndoGap, ...]
    """The gaps, sorted by step id: one for each step with a missing `undo`."""
    explored: int
    complete: bool
    """Whether `gaps` has every gap: the search visited all configurations, or found a gap for each candidate."""


def _may_precede(plan: Plan, order: StepOrder) -> Iterator[tuple[int, int]]:
    """Yield each pair of a step and a step with `on_failure: undo` if the first may run before the second fails.

    A pair has the indices of both steps. Only dependencies are considered. A step that depends on the failing step runs
    after the failing step has succeeded. So it can run before the failure only if another failure makes the failing
    step pending again.
    """
    undoing = [index for index, step in enumerate(order.steps) if step.on_failure == UNDO]
    again = 0
    for target in {order.index[step.goes_back_to] for step in order.steps if step.goes_back_to is not None}:
        again |= order.descendants[target] | 1 << target
    for index in range(len(order.steps)):
        for failing in undoing:
            runs_after = order.ancestors[index] >> failing & 1 and not again >> failing & 1
            if plan.is_policy or not runs_after:
                yield index, failing


def irreversible_before_undo(plan: Plan, order: StepOrder) -> list[str]:
    """Return the sorted ids of the irreversible steps that may run before a failure that undoes everything.

    Only dependencies are considered.
    """
    steps = order.steps
    found = {steps[index].step_id for index, _ in _may_precede(plan, order) if steps[index].undo == IRREVERSIBLE}
    return sorted(found)


def undo_coverage(plan: Plan, order: StepOrder, limit: int) -> UndoCoverage:
    """Return the steps without an `undo` that may have been called before everything is undone.

    At most `limit` configurations are visited. The plan must be accepted by `plan_minimal`.
    """
    sought = 0
    for index, _ in _may_precede(plan, order):
        if not order.steps[index].undo:
            sought |= 1 << index
    if not sought:
        return UndoCoverage((), 0, complete=True)
    search = _Search(compile_plan(plan, order), sought)
    complete = False
    with suppress(OutOfWork):
        complete = search.run(limit)
    gaps = sorted(search.gaps.values(), key=lambda gap: gap.step)
    return UndoCoverage(tuple(gaps), search.explored, complete=complete)


class _Search:
    """The breadth-first search for gaps. Breadth-first order finds the shortest trace to each gap."""

    def __init__(self, program: Program, sought: int) -> None:
        self.gaps: dict[int, UndoGap] = {}
        self.explored = 0
        self._program, self._sought = program, sought
        self._work = WorkLeft(len(program.steps), len(program.tokens), 0)
        self._from: dict[Called, tuple[Called, str] | None] = {}

    def run(self, limit: int) -> bool:
        """Visit configurations.

        Return whether all gaps are found; False if more than `limit` configurations exist. Raises `OutOfWork` if the
        search takes too much work.
        """
        self._work.limit(limit)
        queue: list[Called] = [(self._program.initial, 0)]
        self._from[queue[0]] = None
        for now in queue:
            if self.explored >= limit:
                return False
            self.explored += 1
            for following, item in self._find_successors(now):
                if following not in self._from:
                    self._work.spend(self._work.stored)
                    self._from[following] = (now, item)
                    queue.append(following)
            if self.gaps.keys() == set(bits(self._sought)):
                return True
        return True

    def _find_successors(self, now: Called) -> Iterator[tuple[Called, str]]:
        """Yield each next configuration with the trace item that leads to it, and record the gaps of `now`."""
        program, (configuration, called) = self._program, now
        for index in bits(configuration.pending):
            self._work.spend(self._work.item)
            if not is_ready(program, configuration, index):
                continue
            self._work.spend(self._work.edge)
            calls = called | 1 << index & self._sought
            for outcome in program.successes[index]:
                after = after_success(program, configuration, index, outcome)
                yield (after, calls), trace_item(program, index, outcome)
            if program.undoes[index]:
                self._note(now, index, calls)
            elif program.continues[index]:
                yield (after_failure(program, configuration, index), calls), trace_item(program, index, FAIL)

    def _note(self, now: Called, failing: int, calls: int) -> None:
        for index in bits(calls):
            if index not in self.gaps:
                steps = self._program.steps
                trace = (*self._trace(now), trace_item(self._program, failing, FAIL))
                self._work.spend(2 * len(trace))
                self.gaps[index] = UndoGap(steps[index].step_id, steps[failing].step_id, trace)

    def _trace(self, now: Called) -> tuple[str, ...]:
        items: list[str] = []
        before: Mapping[Called, tuple[Called, str] | None] = self._from
        while (edge := before[now]) is not None:
            now, item = edge
            items.append(item)
        return tuple(reversed(items))


DEAD_ENDS_MAX = 5


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard. Raises `UsageProblem` for an unknown or invalid setting."""
    settings = read_settings(config)

    def plan_expansive(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001
        structure = check_structure(artifact, settings)
        if structure.plan is None or structure.order is None:
            return plan_verdict("plan_expansive", structure.findings, structure.score, Soundness().facts)
        plan, order = structure.plan, structure.order
        soundness = check_soundness(structure, plan, order, settings, whole=True)
        exploration = soundness.exploration
        if exploration is None and soundness.sound:
            exploration = explore_plan(plan, order, settings.max_explorations)
        if exploration is None:
            return plan_verdict("plan_expansive", soundness.findings, soundness.score, soundness.facts)
        trace_findings = [*_check_traces(plan, exploration, settings, soundness), *_check_undo(plan, order, settings)]
        findings = sort_findings([*soundness.findings, *trace_findings], order.index)
        facts = soundness.facts | {
            "assurance": exploration.assurance,
            "escalations": list(exploration.escalations),
            "explored": exploration.explored,
        }
        if plan.undoes:
            facts |= {"undoes": list(exploration.undoes), "irreversible": irreversible_before_undo(plan, order)}
        return plan_verdict("plan_expansive", findings, min(soundness.score, 0.95), facts)

    return plan_expansive


DEFINITION = GuardDefinition(make, slow=True, workflow_settings=WORKFLOW_SETTINGS | {"assurance"})


def _check_traces(plan: Plan, exploration: Exploration, settings: Settings, soundness: Soundness) -> Iterator[Finding]:
    required, reached = settings.assurance, exploration.assurance
    # An assurance below `strong_cyclic` allows dead ends, so dead ends are then only warnings.
    rejects = ASSURANCES.index(required) >= ASSURANCES.index("strong_cyclic")
    dead_ends = list(_find_dead_ends(plan, exploration))
    for finding in dead_ends:
        yield finding if rejects else finding.model_copy(update={"severity": "warning"})
    for index, broken in sorted(exploration.broken.items(), key=itemgetter(0)):
        yield _invariant_finding(plan.invariants[index], index, broken)
    if not exploration.complete:
        if not any(finding.code == Code.TOO_COMPLEX for finding in soundness.findings):
            text = (
                f"Not verified: the plan has more than {exploration.explored} configurations. "
                f"Let fewer steps continue after a failure, order independent steps, or let recovery steps delete the "
                f"tokens that start them."
            )
            yield Finding(code=Code.TOO_COMPLEX, message=text)
    elif reached is not None and ASSURANCES.index(reached) < ASSURANCES.index(required) and not (dead_ends and rejects):
        yield _assurance_finding(reached, required, exploration)


def _check_undo(plan: Plan, order: StepOrder, settings: Settings) -> Iterator[Finding]:
    coverage = undo_coverage(plan, order, settings.max_explorations)
    for gap in coverage.gaps:
        step, failing = printable(gap.step), printable(gap.failing)
        own = "may have done its work before its check fails, and its on_failure is undo"
        what = own if step == failing else f"may have run before the failure of {failing}, whose on_failure is undo"
        text = (
            f"step {step} {what} ({_trace_text(gap.trace)}). But {step} has no `undo`. "
            f"Give {step} an `undo`: a tool, nothing, or irreversible."
        )
        yield Finding(code=Code.NO_UNDO, where=gap.step, message=text, trace=gap.trace)
    if not coverage.complete:
        text = (
            f"It is not verified that all steps can be undone, because the plan has more than {coverage.explored} "
            "configurations. Give every step an `undo`."
        )
        yield Finding(code=Code.TOO_COMPLEX, message=text)


def _find_dead_ends(plan: Plan, exploration: Exploration) -> Iterator[Finding]:
    """Yield a finding for each cause of a dead end, with its shortest trace.

    Then yield a finding for a trace that never ends, if there is one.
    """
    by_cause: dict[str, DeadEnd] = {}
    for end in exploration.dead_ends:
        by_cause.setdefault(_cause_of(end.trace), end)
        if len(by_cause) >= DEAD_ENDS_MAX:
            break
    for cause, end in by_cause.items():
        text = (
            f"Dead end after {_trace_text(end.trace)}: no step is ready, and the goal still lacks "
            f"{quote_names(end.missing)}.{_waiting_clause(plan, end.trace)}{_advice(plan, cause)}"
        )
        where = cause.rpartition(":")[0]
        yield Finding(code=Code.DEAD_END, where=where, message=text, tokens=end.missing, trace=end.trace)
    if exploration.trap is not None:
        text = (
            f"After {_trace_text(exploration.trap)}, the plan never ends and never hands over to a person. "
            f"Let the steps delete the tokens that start them, or set on_failure of one of them to escalate."
        )
        where = exploration.trap[-1].rpartition(":")[0] if exploration.trap else ""
        yield Finding(code=Code.DEAD_END, where=where, message=text, trace=exploration.trap)


def _cause_of(trace: Sequence[str]) -> str:
    not_successes = [item for item in trace if not item.endswith(f":{OK}")]
    if not_successes:
        return not_successes[-1]
    return trace[-1] if trace else ""


def _advice(plan: Plan, cause: str) -> str:
    """Return the part of the message that says how to avoid the dead end."""
    step_id, _, name = cause.rpartition(":")
    shown = printable(step_id)
    if name == FAIL:
        return (
            f" Add a step that needs the failure_effects of {shown} and makes the missing tokens, "
            f"or set on_failure of {shown} to escalate."
        )
    outcomes = (item for step in plan.steps if step.step_id == step_id for item in step.outcomes)
    outcome = next((item for item in outcomes if item.name == name), None)
    if outcome is None:
        return " Add a step that leads from this point to the goal."
    which = f"outcome '{printable(name)}' of {shown}"
    if not outcome.effects:
        return f" Add a token to the effects of the {which}, and a step that needs this token and leads to the goal."
    makes = quote_names(outcome.effects)
    return f" The {which} makes {makes}. Add steps that need these tokens and lead to the goal."


def _waiting_clause(plan: Plan, trace: Sequence[str]) -> str:
    """Return the part of the message about steps that wait only for tokens when the trace ends; empty without them."""
    if plan.is_policy:
        return ""
    end = replay(plan, trace)
    waiting = [
        f"{printable(step.step_id)} waits for {quote_names(step.preconditions - end.tokens)}"
        for step in sorted(plan.steps, key=lambda step: step.step_id)
        if step.step_id not in end.settled and step.dependencies <= end.settled
    ]
    return f" At this point, {'; '.join(waiting[:ITEMS_MAX])}." if waiting else ""


def _invariant_finding(invariant: Invariant, index: int, broken: BrokenInvariant) -> Finding:
    trace = broken.trace
    parts = [f"{quote_names(broken.missing)} must hold but does not"] if broken.missing else []
    parts += [f"{quote_names(broken.wrong)} must not hold but does"] if broken.wrong else []
    when = f"while {quote_names(invariant.when)} holds, " if invariant.when else ""
    text = (
        f"invariants[{index}] is broken {f'after {_trace_text(trace)}' if trace else 'at the start'}: "
        f"{when}{' and '.join(parts)}. Change the order or the effects of the steps."
    )
    where = trace[-1].rpartition(":")[0] if trace else f"invariants[{index}]"
    tokens = tuple(sorted({*broken.missing, *broken.wrong}))
    return Finding(code=Code.INVARIANT_BROKEN, where=where, message=text, tokens=tokens, trace=trace)


def _assurance_finding(reached: str, required: str, exploration: Exploration) -> Finding:
    loop = exploration.loop if reached == "strong_cyclic" else None
    reason = f" It can repeat these steps without end: {_trace_text(loop)}." if loop else ""
    text = f"The plan's assurance is {reached}, but {required} is required.{reason}"
    where = loop[-1].rpartition(":")[0] if loop else ""
    return Finding(code=Code.ASSURANCE_TOO_LOW, where=where, message=text, trace=loop)


def _trace_text(trace: Sequence[str]) -> str:
    shown = [printable(item) for item in trace[-ITEMS_MAX * 2 :]]
    return ("… → " if len(shown) < len(trace) else "") + " → ".join(shown) if trace else "the start"
