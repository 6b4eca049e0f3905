"""Corrects a plan's JSON before guards judge it, and compares the plan with given facts and with the results of tools.

Pure.

In a plan that a model wrote, values that need no decision are corrected: given facts, sums, whole numbers and lists. A
plan from a file is not corrected. A wrong decision of the model is never corrected; the guard rejects it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actors.files.suggestions import closest
from actors.plans.constraints import Constraints, with_constraints
from actors.plans.plan import RETRY_BUDGET_DEFAULT, TOTAL_RETRY_BUDGET_DEFAULT, UNDO, Plan, Step, bound_names
from actors.plans.reader import read_draft
from actors.values.findings import Code, Finding
from actors.values.format import describe_value, printable, quote_names
from actors.values.given import Given, ReadableResult
from actors.values.requirements import requirements_in

TOTAL = "total_retry_budget"
BUDGET = "retry_budget"
LISTS = ("dependencies", "preconditions", "effects", "delete_effects", "failure_effects", "failure_delete_effects")
"""The keys of a step whose values are lists of names or tokens. The order of these lists has no meaning."""
OPTIONAL = (*LISTS, "description", "guard", "on_failure", "repeatable", "undo", "outcomes", BUDGET)
"""The fields of a step that may be missing. A field with the value null counts as missing."""
NUMBER_MAX = 1_000_000
"""The largest number of attempts that the correction of a plan sets as a budget, or reads from a text."""
STEPS_MAX = 10_000
"""Only a plan with at most this many steps is corrected. A guard rejects a plan with more steps."""
_DIGITS = len(str(NUMBER_MAX))


def mend_plan(plan: Any) -> tuple[Any, tuple[Finding, ...]]:
    """Return a plan's JSON value with corrected values, and a warning for each changed place.

    If the value has no list of steps, or too many steps, it is returned unchanged. The argument is not modified.
    """
    if not isinstance(plan, Mapping) or not isinstance(plan.get("steps"), list) or len(plan["steps"]) > STEPS_MAX:
        return plan, ()
    notes: list[Finding] = []
    steps = [_step(step, f"steps[{index}]", notes) for index, step in enumerate(plan["steps"])]
    result = {**plan, "steps": list(_drop_copies(steps, notes))}
    _set_total(result, notes)
    return (result, tuple(notes)) if notes else (plan, ())


def _step(step: Any, where: str, notes: list[Finding]) -> Any:
    if not isinstance(step, Mapping):
        return step
    result = dict(step)
    for key in OPTIONAL:
        if key in result and result[key] is None:
            del result[key]
            notes.append(_note(f"{where}.{key}", f"{where}.{key} was null and is removed"))
    for key in LISTS:
        name = result.get(key)
        if isinstance(name, str) and name and "," not in name and not any(map(str.isspace, name)):
            result[key] = [name]
            notes.append(_note(f"{where}.{key}", f"{where}.{key} was one name and is now a list with this name"))
    if BUDGET in result:
        number = _read_whole_number(result[BUDGET])
        if number == 0:
            number = 1  # It counts the first attempt too, so a step without retries has one attempt.
        if number is not None and not _is(result[BUDGET], number):
            was = describe_value(result[BUDGET])
            result[BUDGET] = number
            notes.append(_note(f"{where}.{BUDGET}", f"{where}.{BUDGET} was {was} and is now {number}"))
    return result


def _drop_copies(steps: list[Any], notes: list[Finding]) -> Iterator[Any]:
    first: dict[str, Any] = {}
    for index, step in enumerate(steps):
        name = step.get("step_id") if isinstance(step, Mapping) else None
        if isinstance(name, str) and first.setdefault(name, step) is not step and first[name] == step:
            text = f"the plan had two equal steps {printable(name, 60)}, and one is removed"
            notes.append(_note(f"steps[{index}]", text))
        else:
            yield step


def _set_total(plan: dict[str, Any], notes: list[Finding]) -> None:
    budgets: list[Any] = [
        step.get(BUDGET, RETRY_BUDGET_DEFAULT) if isinstance(step, Mapping) else None for step in plan["steps"]
    ]
    if not all(type(budget) is int and 1 <= budget <= NUMBER_MAX for budget in budgets):
        return
    needed, written = sum(budgets), plan.get(TOTAL)
    number = max(needed, TOTAL_RETRY_BUDGET_DEFAULT) if written is None else _read_whole_number(written)
    if number is None or needed > NUMBER_MAX:
        return
    number = max(number, needed)
    current_total = TOTAL_RETRY_BUDGET_DEFAULT if TOTAL not in plan else written
    if not _is(current_total, number):
        was = "missing" if written is None else describe_value(written).removeprefix("the number ")
        plan[TOTAL] = number
        notes.append(
            _note(TOTAL, f"{TOTAL} was {was} and is now {number}; the retry budgets of the steps add up to {needed}")
        )


def _read_whole_number(value: Any) -> int | None:
    if isinstance(value, str) and len(text := value.strip()) <= _DIGITS and text.isascii() and text.isdigit():
        value = int(text)
    if isinstance(value, float) and 0 <= value <= NUMBER_MAX and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= NUMBER_MAX else None


def _is(value: Any, number: int) -> bool:
    return type(value) is int and value == number


def _note(where: str, text: str) -> Finding:
    message = f"set by the program: {text}."
    return Finding(code=Code.SET_BY_PROGRAM, where=where, message=message, severity="warning")


def set_given_facts(plan: Any, given: Given) -> tuple[Any, tuple[str, ...]]:
    """Return a plan's JSON value with the facts of `given`, and the keys whose values were replaced.

    A missing key is added, and does not count as replaced. If a failure can undo the whole plan, each step without an
    undo gets the undo that its tool declares. Missing requirements and invariants that every plan must have are added.
    If the value has no list of steps, it is returned unchanged, because the guard rejects it.
    """
    if not isinstance(plan, Mapping) or not isinstance(plan.get("steps"), list):
        return plan, ()
    if given.guards == () and not given.step_guards:
        plan = _drop_empty_guards(plan)
    plan = _add_undos(plan, given)
    facts = given.values
    different = {key: fact for key, fact in facts.items() if key not in plan or not _equals_fact(plan[key], fact)}
    kept = Constraints(tuple(requirements_in(given.kept_requirements)), given.kept_invariants)
    new_plan = with_constraints({**plan, **different} if different else plan, kept)
    return new_plan, tuple(key for key in different if key in plan)


def _drop_empty_guards(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a plan without empty `guard` keys. Models must write the key even if no guards exist."""
    steps = plan["steps"]
    if not any(isinstance(step, Mapping) and step.get("guard") == "" for step in steps):
        return plan
    kept = [
        {key: value for key, value in step.items() if key != "guard" or value != ""}
        if isinstance(step, Mapping)
        else step
        for step in steps
    ]
    return {**plan, "steps": kept}


def _add_undos(plan: Mapping[str, Any], given: Given) -> Mapping[str, Any]:
    steps = plan["steps"]
    if not any(isinstance(step, Mapping) and step.get("on_failure") == UNDO for step in steps):
        return plan
    declared = [_declared_undo(step, given) if isinstance(step, Mapping) else "" for step in steps]
    if not any(declared):
        return plan
    new_steps = [{**step, "undo": undo} if undo else step for step, undo in zip(steps, declared, strict=True)]
    return {**plan, "steps": new_steps}


def _declared_undo(step: Mapping[str, Any], given: Given) -> str:
    """Return the undo that a step's tool declares; empty if the tool declares none, or if the step has an undo."""
    if step.get("undo"):
        return ""
    names = [name for name in bound_names(str(step.get("step_id", ""))) if name in given.step_generators]
    if names:
        return given.step_undos.get(names[0], "")
    return given.undos.get(str(step.get("generator", "")), "")


def findings_of_replaced_keys(replaced: Sequence[str]) -> tuple[Finding, ...]:
    """Return a warning for each key of a plan whose value was replaced by a given fact."""
    return tuple(
        Finding(
            code=Code.GIVEN_REPLACED,
            where=key,
            message=f"{key} is given, so its value in the plan was replaced by the given value.",
            severity="warning",
        )
        for key in replaced
    )


def unbound_findings(plan: Any, given: Given) -> Iterator[Finding]:
    """Yield an error for each generator and guard of a step if no tool implements it."""
    steps = plan.get("steps") if isinstance(plan, Mapping) else None
    for step in steps if isinstance(steps, list) else ():
        if not isinstance(step, Mapping):
            continue
        own = set(bound_names(str(step.get("step_id", ""))))
        kinds = (
            ("generator", given.generators, given.step_generators),
            ("guard", given.guards, given.step_guards),
        )
        for key, names, steps_bound in kinds:
            name = step.get(key)
            if own.intersection(steps_bound):
                continue
            if names is not None and isinstance(name, str) and name and name not in names:
                listed = f"choose one of {quote_names(names, limit=30)}" if names else f"the tools implement no {key}s"
                message = f"step {step.get('step_id')}: no tool implements the {key} {printable(name, 60)!r}; {listed}."
                yield Finding(code=Code.UNBOUND, where=str(step.get("step_id", "")), message=message)


def _equals_fact(written: Any, fact: Sequence[Any]) -> bool:
    """Return whether a list in a plan has the same items as a fact, in any order."""
    if not isinstance(written, list) or len(written) != len(fact):
        return False
    if all(isinstance(item, str) for item in (*written, *fact)):
        return set(written) == set(fact)
    return all(item in fact for item in written) and all(item in written for item in fact)


_NOTHING = ReadableResult()


def unread_findings(plan: Any, given: Given) -> Iterator[Finding]:
    """Yield an error for each outcome or value in a plan that the result of the step's tool does not report.

    If `given` names no tools, yield nothing. Yield a warning if the result can report an outcome that the step does not
    list. Such an outcome counts as a failure of the step. In an execution, `actors.tools.uses.ToolSet.unbound` finds
    the same mistakes.
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
            text = f"its tool uses the value of {quote_names(lost)}; add {quote_names(lost)} to the preconditions."
            yield _finding(step, text, lost)
    if unknown := sorted((valued & draft.initial_state) - set(given.known_values)):
        text = f"initial_state has {quote_names(unknown)}, but no result has reported the value; " + _token_source_hint(
            draft, unknown[0], given
        )
        yield Finding(code=Code.UNBOUND, where="initial_state", message=text, tokens=tuple(unknown))
    for step in draft.steps:
        made = (step.may_add & valued) - set(results[step.step_id].values) | step.failure_effects & valued
        for token in sorted(made):
            text = f"it makes {quote_names([token])}, but its result does not report the value of this token; "
            yield _finding(step, text + _token_source_hint(draft, token, given), [token])


def _result(step: Step, given: Given) -> ReadableResult:
    for name in bound_names(step.step_id):
        if name in given.step_generators:
            return given.step_results.get(name, _NOTHING)
    return given.results.get(step.generator, _NOTHING)


def _outcomes(step: Step, result: ReadableResult) -> Iterator[Finding]:
    reported = result.outcomes
    names = [outcome.name for outcome in step.outcomes]
    unknown = [name for name in names if name not in reported]
    if unknown and not reported:
        text = "the result of its generator reports no outcomes; leave outcomes empty, and put the tokens into effects."
        yield _finding(step, text)
        return
    for name in unknown:
        near = closest(name, reported)
        hint = f"did you mean '{printable(near)}'?" if near else f"it reports {_list_tokens(reported)}."
        yield _finding(step, f"the result of its generator reports no outcome '{printable(name, 60)}'; {hint}")
    left = [name for name in reported if name not in names]
    if names and left and not unknown:
        more = f"its result may also report {_list_tokens(left)}, which counts as a failure of the step"
        text = f"{more}; add outcomes with these names."
        yield _finding(step, text, severity="warning")


def _token_source_hint(plan: Plan, token: str, given: Given) -> str:
    """Return the last part of an error message: which generators report the value of the token."""
    named: Mapping[str, ReadableResult] = {**given.results, **given.step_results}
    names = sorted(name for name, result in named.items() if token in result.values)
    if not names:
        return "no tool reports this value."
    steps = sorted(step.step_id for step in plan.steps if token in _result(step, given).values)
    here = f" Step {printable(steps[0])} has such a generator." if steps else ""
    which = "the generator" if len(names) == 1 else "one of the generators"
    return f"let a step with {which} {_list_tokens(names)} make the token, because its result reports the value.{here}"


def _list_tokens(names: Any) -> str:
    return quote_names(names, limit=30)


def _finding(step: Step, text: str, tokens: Any = (), severity: Any = "error") -> Finding:
    message = f"step {printable(step.step_id)}: {text}"
    return Finding(code=Code.UNBOUND, where=step.step_id, message=message, severity=severity, tokens=tuple(tokens))
