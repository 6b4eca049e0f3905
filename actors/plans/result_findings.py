"""What a plan expects of the results of its tools that these do not tell: outcomes and values. Pure.

`actors.tools.uses.ToolSet.unbound` refuses the same in a plan that is executed. Here the author of a plan gets a
finding for each mistake, which says what the results do tell.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from actors.files.suggestions import closest
from actors.plans.formatting import printable, quote_names
from actors.plans.plan import Plan, Step, bound_names
from actors.plans.reader import read_draft
from actors.values.findings import Code, Finding
from actors.values.given import Given, ReadableResult

_NOTHING = ReadableResult()


def unread_findings(plan: Any, given: Given) -> Iterator[Finding]:
    """Yield a finding for each outcome and value of a plan that no result tells; none where no tools are given.

    An outcome that a result tells and its step does not list is a warning: it counts as a failure of the step.
    """
    draft = read_draft(plan)[0] if given.generators is not None else None
    if draft is None:
        return
    results = {step.step_id: _result(step, given) for step in draft.steps}
    uses = {step.step_id: {*results[step.step_id].uses, *given.guard_uses.get(step.guard, ())} for step in draft.steps}
    valued = frozenset().union(*uses.values())
    for step in draft.steps:
        yield from _outcomes(step, results[step.step_id])
        if lost := sorted(uses[step.step_id] - step.preconditions):
            text = f"its tool uses the value of {quote_names(lost)}; add it to the preconditions."
            yield _finding(step, text, lost)
    if unknown := sorted((valued & draft.initial_state) - set(given.known_values)):
        text = f"initial_state has {quote_names(unknown)}, whose value no result has told then; " + _tellers(
            draft, unknown[0], given
        )
        yield Finding(code=Code.UNBOUND, where="initial_state", message=text, tokens=tuple(unknown))
    for step in draft.steps:
        made = (step.may_add & valued) - set(results[step.step_id].values) | step.failure_effects & valued
        for token in sorted(made):
            text = f"it makes {quote_names([token])}, whose value its result does not tell; "
            yield _finding(step, text + _tellers(draft, token, given), [token])


def _result(step: Step, given: Given) -> ReadableResult:
    """Return what the result of a step's generator tells."""
    for name in bound_names(step.step_id):
        if name in given.step_generators:
            return given.step_results.get(name, _NOTHING)
    return given.results.get(step.generator, _NOTHING)


def _outcomes(step: Step, result: ReadableResult) -> Iterator[Finding]:
    told = result.outcomes
    names = [outcome.name for outcome in step.outcomes]
    unknown = [name for name in names if name not in told]
    if unknown and not told:
        text = (
            "the result of its generator tells no outcomes; leave outcomes empty, and put what it makes into effects."
        )
        yield _finding(step, text)
        return
    for name in unknown:
        near = closest(name, told)
        hint = f"did you mean '{printable(near)}'?" if near else f"it tells {_list_tokens(told)}."
        yield _finding(step, f"the result of its generator tells no outcome '{printable(name, 60)}'; {hint}")
    left = [name for name in told if name not in names]
    if names and left and not unknown:
        more = f"its result may also tell {_list_tokens(left)}, which counts as a failure of the step"
        text = f"{more}; add an outcome for it."
        yield _finding(step, text, severity="warning")


def _tellers(plan: Plan, token: str, given: Given) -> str:
    """Return which generators tell the value of a token, as the end of a sentence."""
    named: Mapping[str, ReadableResult] = {**given.results, **given.step_results}
    names = sorted(name for name, result in named.items() if token in result.values)
    if not names:
        return "no result tells it."
    steps = sorted(step.step_id for step in plan.steps if token in _result(step, given).values)
    here = f", as that of step {printable(steps[0])} is" if steps else ""
    return f"let it be made by a step whose result tells it (generator {_list_tokens(names)}{here})."


def _list_tokens(names: Any) -> str:
    return quote_names(names, limit=30)


def _finding(step: Step, text: str, tokens: Any = (), severity: Any = "error") -> Finding:
    message = f"step {printable(step.step_id)}: {text}"
    return Finding(code=Code.UNBOUND, where=step.step_id, message=message, severity=severity, tokens=tuple(tokens))
