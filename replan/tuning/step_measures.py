"""What recorded planning runs say about the steps of a model: form errors, success, and success after a finding. Pure.

An attempt has a form error if its reply cannot be read, or lacks what the schema asks for. It is an attempt after a
finding if the attempt before it at the same step was rejected, so that its prompt had the findings.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from actors.planning.events import PlanningEvent, VerdictReached
from actors.run.ids import step_of

FORM_FAMILIES = ("reply", "field")
"""The families of finding codes that are about the form of a reply."""


@dataclass(frozen=True, slots=True)
class StepMeasure:
    """The attempts at one step over all runs."""

    step: str
    """The step's id."""
    attempts: int = 0
    """All attempts that were judged."""
    form_errors: int = 0
    """Those with a form error."""
    firsts: int = 0
    """The first attempts of a run without a form error."""
    firsts_accepted: int = 0
    """Those that the guard accepted."""
    told: int = 0
    """The attempts after a finding, without a form error."""
    told_accepted: int = 0
    """Those that the guard accepted."""


@dataclass(frozen=True, slots=True)
class AttemptsUntilPlan:
    """How the plan of one run went: the record that the odds of the model are fitted to."""

    attempts: int
    """The attempts at the plan without a form error, up to the first that was accepted."""
    accepted: bool
    """Whether one was accepted."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What runs say about a model."""

    steps: tuple[StepMeasure, ...]
    """The steps, in the order in which they were first judged."""
    plans: tuple[AttemptsUntilPlan, ...]
    """The record of each run with an attempt at its last step."""

    @property
    def form_error_share(self) -> float:
        """The share of attempts with a form error, with half an attempt added to each side."""
        errors = sum(step.form_errors for step in self.steps)
        return (errors + 0.5) / (sum(step.attempts for step in self.steps) + 1)


def measure_steps(runs: Iterable[Sequence[PlanningEvent]], plan_step: str) -> Measures:
    """Return what runs of one workflow say; `plan_step` is the step that writes the plan."""
    steps, plans = dict[str, StepMeasure](), list[AttemptsUntilPlan]()
    for events in runs:
        before = dict[str, bool]()  # Whether the last attempt at a step was accepted.
        formed = list[bool]()  # Whether each well-formed attempt at the plan was accepted.
        for event in events:
            if not isinstance(event, VerdictReached):
                continue
            step, accepted = step_of(event.node), event.verdict.passed
            malformed = any(finding.code.partition(".")[0] in FORM_FAMILIES for finding in event.verdict.errors)
            steps[step] = _count_attempt(
                steps.get(step, StepMeasure(step)), before.get(step), accepted=accepted, malformed=malformed
            )
            before[step] = accepted
            if step == plan_step and not malformed and True not in formed:
                formed.append(accepted)
        if formed:
            plans.append(AttemptsUntilPlan(len(formed), formed[-1]))
    return Measures(tuple(steps.values()), tuple(plans))


def _count_attempt(measure: StepMeasure, before: bool | None, *, accepted: bool, malformed: bool) -> StepMeasure:
    """Return the measure with one more attempt; `before` is whether the last one was accepted, None for the first."""
    measure = replace(measure, attempts=measure.attempts + 1, form_errors=measure.form_errors + malformed)
    if malformed:
        return measure
    if before is None:
        return replace(measure, firsts=measure.firsts + 1, firsts_accepted=measure.firsts_accepted + accepted)
    if before:
        return measure
    return replace(measure, told=measure.told + 1, told_accepted=measure.told_accepted + accepted)
