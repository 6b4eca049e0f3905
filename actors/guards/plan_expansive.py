"""plan_expansive: over all traces of successes and failures, no dead end, no broken invariant, enough assurance.

Exponential in the worst case, hence bounded by `max_explorations` configurations; at the cap a plan is not verified,
and never valid.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actors.guards.plan_medium import Soundness, check_soundness
from actors.guards.plan_minimal import check_structure
from actors.guards.plan_settings import ASSURANCES, Settings, by_place, settings, verdict
from actors.guards.port import Guard
from actors.plans.exploration import End, Exploration, explore
from actors.plans.plan import Invariant, Plan
from actors.plans.semantics import compile_plan, replay
from actors.plans.wording import ITEMS_MAX, listed, plain
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict

DEAD_ENDS_MAX = 5
"""Dead ends that are reported, one for each step whose failure (or else whose end) leads to them."""


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard. Raises `UsageProblem` on a setting it does not know."""
    chosen = settings(config)

    def plan_expansive(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001
        structure = check_structure(artifact, chosen)
        if structure.plan is None or structure.order is None:
            return verdict("plan_expansive", structure.findings, structure.score, Soundness().facts)
        plan, order = structure.plan, structure.order
        sound = check_soundness(structure, plan, order, chosen, whole=True)
        seen = sound.exploration
        if seen is None and sound.sound:
            seen = explore(compile_plan(plan, order), chosen.max_explorations)
        if seen is None:
            return verdict("plan_expansive", sound.findings, sound.score, sound.facts)
        found = by_place([*sound.findings, *_traces(plan, seen, chosen, sound)], order.place)
        measured = {
            "assurance": seen.assurance,
            "escalations": list(seen.escalations),
            "explored": seen.explored,
        }
        return verdict("plan_expansive", found, min(sound.score, 0.95), sound.facts | measured)

    return plan_expansive


def _traces(plan: Plan, seen: Exploration, chosen: Settings, sound: Soundness) -> Iterator[Finding]:
    """Yield what is wrong with the traces of failures and successes."""
    required, found = chosen.assurance, seen.assurance
    # Below `strong_cyclic` a dead end is allowed by definition; it is still worth saying.
    severe = ASSURANCES.index(required) >= ASSURANCES.index("strong_cyclic")
    ends = list(_dead_ends(plan, seen))
    for one in ends:
        yield one if severe else one.model_copy(update={"severity": "warning"})
    for place, trace in sorted(seen.broken.items()):
        yield _broken(plan.invariants[place], place, trace, plan)
    if not seen.complete:
        if not any(one.code == Code.TOO_COMPLEX for one in sound.findings):
            text = (
                f"Not verified: more than {seen.explored} configurations of successes and failures. Let fewer steps "
                f"continue after a failure, order independent steps, or let recoveries delete the marks they react to."
            )
            yield Finding(code=Code.TOO_COMPLEX, message=text)
    elif found is not None and ASSURANCES.index(found) < ASSURANCES.index(required) and not (ends and severe):
        yield _too_low(found, required, seen)


def _dead_ends(plan: Plan, seen: Exploration) -> Iterator[Finding]:
    """Yield the dead ends, the shortest for each step that leads to one; then the trap, if there is one."""
    blamed: dict[str, End] = {}
    for end in seen.dead_ends:
        failures = [one for one in end.trace if one.endswith(":fail")]
        last = (failures or list(end.trace) or [""])[-1].rpartition(":")[0]
        if blamed.setdefault(last, end) is end and len(blamed) >= DEAD_ENDS_MAX:
            break
    for step_id, end in blamed.items():
        text = (
            f"Dead end after {_path(end.trace)}: nothing is ready and the goal lacks {listed(end.missing)}."
            f"{_waiting(plan, end.trace)}{_advice(step_id, end.trace)}"
        )
        yield Finding(code=Code.DEAD_END, where=step_id, message=text, tokens=end.missing, trace=end.trace)
    if seen.trap is not None:
        text = (
            f"After {_path(seen.trap)} the run goes on for ever: no trace from there ends, and none is handed over. "
            f"Let the steps delete the tokens that start them, or let one of them escalate."
        )
        where = seen.trap[-1].rpartition(":")[0] if seen.trap else ""
        yield Finding(code=Code.DEAD_END, where=where, message=text, trace=seen.trap)


def _advice(step_id: str, trace: Sequence[str]) -> str:
    """Return what to do about a dead end."""
    name = plain(step_id)
    if f"{step_id}:fail" in trace:
        return (
            f" Add a step that reacts to the failure_effects of {name} and makes what is missing, "
            f"or set on_failure of {name} to escalate."
        )
    return " Add a step that leads from there to the goal."


def _waiting(plan: Plan, trace: Sequence[str]) -> str:
    """Return which steps could go on but for a token, at the end of a trace."""
    then = replay(plan, trace)
    held = [
        f"{plain(step.step_id)} waits for {listed(step.preconditions - then.tokens)}"
        for step in sorted(plan.steps, key=lambda step: step.step_id)
        if not plan.is_policy and step.step_id not in then.settled and step.dependencies <= then.settled
    ]
    return f" There {'; '.join(held[:ITEMS_MAX])}." if held else ""


def _broken(invariant: Invariant, place: int, trace: tuple[str, ...], plan: Plan) -> Finding:
    """Say which invariant a trace breaks, and how."""
    holds = replay(plan, trace).tokens
    missing, wrong = invariant.must - holds, invariant.must_not & holds
    parts = [f"{listed(missing)} must hold and does not"] if missing else []
    parts += [f"{listed(wrong)} must not hold and does"] if wrong else []
    when = f" while {listed(invariant.when)} holds" if invariant.when else ""
    text = (
        f"invariants[{place}] is broken {f'after {_path(trace)}' if trace else 'at the start'}: "
        f"{' and '.join(parts)}{when}. Change the order or the effects of these steps."
    )
    where = trace[-1].rpartition(":")[0] if trace else f"invariants[{place}]"
    tokens = tuple(sorted(missing | wrong))
    return Finding(code=Code.INVARIANT_BROKEN, where=where, message=text, tokens=tokens, trace=trace)


def _too_low(found: str, required: str, seen: Exploration) -> Finding:
    """Say that the assurance is weaker than what was asked for."""
    why = f" It can go round and round: {_path(seen.loop)}." if seen.loop and found == "strong_cyclic" else ""
    text = f"The plan's assurance is {found}, and {required} is required.{why}"
    trace = seen.loop if found == "strong_cyclic" else None
    where = trace[-1].rpartition(":")[0] if trace else ""
    return Finding(code=Code.ASSURANCE_TOO_LOW, where=where, message=text, trace=trace)


def _path(trace: Sequence[str]) -> str:
    """Return a trace as a reader may follow it; of a long one, the end."""
    shown = [plain(one) for one in trace[-ITEMS_MAX * 2 :]]
    return ("… → " if len(shown) < len(trace) else "") + " → ".join(shown) if trace else "the start"
