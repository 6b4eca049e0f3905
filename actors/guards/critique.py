"""The guards of a critique of a draft plan, and of the plan that follows it (S136).

`critique_valid`: a critique has an assessment and at least one remark.

`follows_critique`: the final plan takes the critique into account. The guard cannot understand a critique, so it makes
three checks. It is an error if the plan equals its draft, apart from white space and case. It is a warning if the plan
differs from its draft only in names and descriptions. It is also a warning if the critique criticises a step and the
plan has this step unchanged, because the model may have a reason.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from actors.guards.fields import (
    ASSESSMENTS,
    CRITIQUE_LISTS,
    Fields,
    dependency,
    fold_space,
    quote_text,
    without_settings,
)
from actors.plans.plan import Plan
from actors.plans.reader import read_draft
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from runtime.models.replies import Unreadable

CRITIQUE_VALID = "critique_valid"


def _judge_critique(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001 - a guard's signature
    fields = Fields(CRITIQUE_VALID, artifact)
    fields.check_choice("overall_assessment", ASSESSMENTS)
    fields.text("problem_type_match", required=False)
    remarks = [fields.texts(key) for key in CRITIQUE_LISTS]
    if fields.values is not None and not any(remarks):
        message = f"the critique has no remark: add one to {', '.join(CRITIQUE_LISTS[:-1])} or {CRITIQUE_LISTS[-1]}"
        fields.check([Finding(code=Code.EMPTY, message=message)])
    return fields.verdict()


FOLLOWS_CRITIQUE = "follows_critique"

_WORD = re.compile(r"[\w-]+")


def _judge_revised_plan(artifact: Artifact, context: Context) -> Verdict:
    """Return the verdict of `follows_critique` on a final plan.

    The critique and the draft are the results of the required steps with the roles `critique` and `plan`. If several
    required steps have the same role, the last result is used. If the critique or the draft is missing, the plan passes
    with a warning.
    """
    value = artifact.value
    if isinstance(value, Unreadable):
        return _verdict([Finding(code=value.code, message=value.message)])
    critique, draft = dependency(context, "critique"), dependency(context, "plan")
    if critique is None or draft is None:
        missing = "critique" if critique is None else "draft plan"
        message = f"no required step made a {missing}, so nothing was compared"
        return _verdict([Finding(code=Code.NOT_COMPARED, message=message, severity="warning")])
    return _verdict(list(_compare_with_draft(value.value, critique, draft)))


def _verdict(findings: list[Finding]) -> Verdict:
    passed = all(finding.severity == "warning" for finding in findings)
    return Verdict(guard=FOLLOWS_CRITIQUE, passed=passed, score=float(passed), findings=tuple(findings))


def _compare_with_draft(final: Any, critique: Mapping[str, Any], draft: Mapping[str, Any]) -> Iterator[Finding]:
    before, after = read_draft(draft)[0], read_draft(final)[0]
    if _is_same(draft, before, final, after):
        assessment = critique.get("overall_assessment")
        if assessment != "good":
            cause = f"the critique rates the draft {quote_text(str(assessment))}, but the plan equals the draft"
            yield Finding(code=Code.CRITIQUE_IGNORED, message=f"{cause}; make the changes that the critique asks for")
        return
    if before is None or after is None:
        return
    if (
        _compared_content(before, words=False) == _compared_content(after, words=False)
        and critique.get("overall_assessment") != "good"
    ):
        message = "the plan differs from the draft only in its texts, not in what is carried out or checked"
        yield Finding(code=Code.CRITIQUE_NEARLY_IGNORED, message=message, severity="warning")
    old, new = {step.step_id: step for step in before.steps}, {step.step_id: step for step in after.steps}
    for step in sorted(_words(critique, "unnecessary_steps") & old.keys() & new.keys()):
        message = f"the critique names {quote_text(step)} under unnecessary_steps, but the plan still has this step"
        yield Finding(code=Code.CRITIQUE_UNHEEDED, message=message, where=step, severity="warning")
    for step in sorted(_words(critique, "guard_appropriateness") & old.keys() & new.keys()):
        if old[step].guard == new[step].guard:
            message = f"the critique names {quote_text(step)} under guard_appropriateness, but its guard is unchanged"
            yield Finding(code=Code.CRITIQUE_UNHEEDED, message=message, where=step, severity="warning")


def _is_same(draft: Any, before: Plan | None, final: Any, after: Plan | None) -> bool:
    if before is None or after is None:
        return bool(draft == final)
    return _compared_content(before) == _compared_content(after)


def _compared_content(plan: Plan, *, words: bool = True) -> tuple[Any, ...]:
    """Return the parts of a plan that the guard compares, with white space and case normalised.

    With `words`, the goal's text and the names and descriptions of steps are included.
    """
    shown = plan.steps if words else (step._replace(name="", description="") for step in plan.steps)
    steps = frozenset(tuple(_fold_value(value) for value in step) for step in shown)
    goals = (_fold_value(plan.goal) if words else "", _fold_value(plan.initial_state), _fold_value(plan.goal_state))
    invariants = frozenset(
        (_fold_value(invariant.when), _fold_value(invariant.must), _fold_value(invariant.must_not))
        for invariant in plan.invariants
    )
    return (*goals, plan.total_retry_budget, invariants, steps, len(plan.steps))


def _fold_value(value: Any) -> Any:
    """Normalise white space and case in a text or in each text of a set. Return any other value unchanged."""
    if isinstance(value, str):
        return fold_space(value).casefold()
    return frozenset(fold_space(item).casefold() for item in value) if isinstance(value, frozenset) else value


def _words(critique: Mapping[str, Any], key: str) -> set[str]:
    value = critique.get(key)
    items = value if isinstance(value, list) else []
    return {word.strip("-") for item in items if isinstance(item, str) for word in _WORD.findall(item)}


make_critique_valid = without_settings(CRITIQUE_VALID, _judge_critique)


make_follows_critique = without_settings(FOLLOWS_CRITIQUE, _judge_revised_plan)
