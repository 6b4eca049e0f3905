"""The questions of an execution about a step or a trouble, and the meaning of their answers. Pure."""

from collections.abc import Mapping

from actors.execution import faults
from actors.execution.attempts import CHECK_FAILS, CHECK_PASSES, DONE, NOT_DONE, tool_use
from actors.execution.events import TroubleCause
from actors.execution.state import Attempt, AttemptPhase, State, Trouble
from actors.execution.undo import can_undo
from actors.plans.plan import IRREVERSIBLE
from actors.policy.table import BacktrackLevel
from actors.run.questions import ClarificationRequested, new_id, outcome_question
from actors.tools.uses import PersonUse, use_text
from actors.values.answers import YES_NO
from actors.values.findings import Finding
from actors.values.format import format_count, shorten
from actors.values.question_form import AskedForm, Inquiry, add_consequences, block, make_form, one_line

TRY_AGAIN = "try the step again"
BY_HAND = "the step is done"
REPLAN = "make a new plan"
REVISE_GOALS = "make a new plan, and revise the goals"
GO_ON = "go on with this plan"
LOOK_AGAIN = "look again"
UNDO_ALL = "undo everything and end"
GIVE_UP = "give up"

LEVELS: Mapping[str, BacktrackLevel] = {
    TRY_AGAIN: BacktrackLevel.LOCAL_RETRY,
    GO_ON: BacktrackLevel.LOCAL_RETRY,
    LOOK_AGAIN: BacktrackLevel.LOCAL_RETRY,
    REPLAN: BacktrackLevel.PARTIAL_REPLAN,
    REVISE_GOALS: BacktrackLevel.FULL_REPLAN,
    GIVE_UP: BacktrackLevel.GIVE_UP,
}
"""How far back each answer goes. `BY_HAND` is not listed, because this answer only reports the step as done."""

_MAY_GO_ON = frozenset(
    {
        TroubleCause.REQUIREMENTS_CHANGED,
        TroubleCause.REQUIREMENT_VIOLATED,
        TroubleCause.INVARIANT_BROKEN,
        TroubleCause.GOAL_FAILED,
        TroubleCause.WORLD_LACKS,
    }
)
"""The troubles after which a person may continue with the plan unchanged."""


DOES: Mapping[str, str] = {
    TRY_AGAIN: "The step has another visit, with all its attempts.",
    BY_HAND: "The step counts as succeeded, and the plan goes on.",
    REPLAN: "A new plan for the same goals is made from what holds now.",
    REVISE_GOALS: "A new plan is made, and it may have other goals.",
    GO_ON: "Nothing is changed, and the plan goes on.",
    LOOK_AGAIN: "The run looks again for what the plan needs. Provide it before you answer.",
    UNDO_ALL: "Everything that was done is undone, the last call first, and the run ends.",
    GIVE_UP: "The run ends, and its goals are not reached.",
}
_FINDINGS_SHOWN = 5


def question_of(state: State, trouble: Trouble, *, again: bool, plan: bool) -> AskedForm:
    """Return the question about a trouble.

    `again`: whether the step may be visited again. `plan`: whether a new plan can be made. If a step's outcome or
    values come from its output, no person can report the step as done.
    """
    by_hand = not (trouble.step and state.plan.reads_output(state.config.tools, trouble.step))
    finding = trouble.findings[0]
    if trouble.cause is TroubleCause.PLANNER_ASKS and finding.asks is not None:
        return _planner_question(state, trouble, finding.asks)
    subject = f"The plan (revision {state.revision}) is interrupted, and no step begins before you answer."
    lines = [reason.message for reason in _shown_findings(trouble)]
    if trouble.cause in (TroubleCause.PLAN_REJECTED, TroubleCause.REPLAN_FAILED):
        lines.append(f"{format_count(state.replans, 'attempt')} to plan anew so far.")
    if state.config.author_lacks:
        lines.append(f"No new plan can be made: {state.config.author_lacks}.")
    listed = _options(trouble, again=again, plan=plan, by_hand=by_hand, undo=can_undo(state.effects, state.ends))
    cause = _TROUBLES[trouble.cause].format(step=f"the step '{one_line(trouble.step, 200)}'")
    return make_form(
        f"What follows, as {cause}?",
        about=subject,
        shown="\n".join(lines),
        choices={option: DOES[option] for option in listed},
        otherwise="the run ends, and its goals are not reached.",
    )


def _planner_question(state: State, trouble: Trouble, inquiry: Inquiry) -> AskedForm:
    rest = [reason.message for reason in _shown_findings(trouble) if reason.where != faults.REPLAN]
    mended = "\n".join(["The new plan must mend this:", *rest]) if rest else ""
    below = block("\n\n".join(filter(None, (inquiry.shown, mended))))
    return add_consequences(
        inquiry.model_copy(update={"shown": below}),
        about=f"The plan has to change for revision {state.revision + 1}, and planning waits for the answer.",
        otherwise="planning goes on without it.",
    )


def _shown_findings(trouble: Trouble) -> list[Finding]:
    """Return the findings to show in a question. A guard's findings about a new plan are only for models."""
    reasons = [finding for finding in trouble.findings if finding.where != faults.REPLAN]
    return (reasons or list(trouble.findings[-1:]))[:_FINDINGS_SHOWN]


def _options(trouble: Trouble, *, again: bool, plan: bool, by_hand: bool, undo: bool) -> list[str]:
    listed: list[str] = []
    if trouble.cause is TroubleCause.UNKNOWN_OUTCOME:
        listed += [BY_HAND] if by_hand else []
        listed += [TRY_AGAIN] if again else []
    elif trouble.step:
        listed += [TRY_AGAIN] if again else []
        listed += [BY_HAND] if by_hand else []
    elif trouble.cause in _MAY_GO_ON:
        listed += [LOOK_AGAIN] if trouble.cause is TroubleCause.WORLD_LACKS else []
        listed.append(GO_ON)
    if plan:
        listed += [REPLAN, REVISE_GOALS]
    if undo:
        listed.append(UNDO_ALL)
    return [*listed, GIVE_UP]


_TROUBLES: dict[TroubleCause, str] = {
    TroubleCause.ESCALATED: "{step} failed, and the plan escalates this failure",
    TroubleCause.REQUIREMENT_VIOLATED: "something was done that a requirement forbids",
    TroubleCause.UNKNOWN_OUTCOME: "nobody knows whether {step} was done",
    TroubleCause.ASSUMPTION_BROKEN: "{step} failed, although the plan assumes that it cannot fail",
    TroubleCause.INVARIANT_BROKEN: "an invariant of the plan is broken",
    TroubleCause.DEAD_END: "the plan is at a dead end",
    TroubleCause.GOAL_FAILED: "a goal is out of reach",
    TroubleCause.REQUIREMENTS_CHANGED: "the requirements have changed, and no new plan can be made here",
    TroubleCause.REPLAN_FAILED: "no new plan was found",
    TroubleCause.STEP_FORBIDDEN: "{step} would do what a requirement forbids, and was not begun",
    TroubleCause.PLAN_REJECTED: (
        "the last new plan that was found may not be executed: it breaks a constraint of this run"
    ),
    TroubleCause.PLAN_EDITED: "a person has edited the plan",
    TroubleCause.WORLD_LACKS: "something that the plan needs is missing",
    TroubleCause.PLANNER_ASKS: "the planner needs an answer",
}


QUESTION_TEXT_MAX = 2_000
"""The largest number of characters of a plan's or a tool's text that a question shows."""
_NAME_MAX = 200


def ask_approval(state: State, attempt: Attempt) -> ClarificationRequested:
    """Return the question that asks whether a step may run."""
    uses = [use for use in state.plan.uses(state.config.tools, attempt.step) if not isinstance(use, PersonUse)]
    calls = "\n".join(f"- {shorten(use_text(use, state.config.tools), QUESTION_TEXT_MAX)}" for use in uses)
    again = f", attempt {attempt.number}" if attempt.number > 1 else ""
    calls += _undo_text(state, attempt)
    form = make_form(
        f"May {_step_text(state, attempt)} run{again}?",
        about=f"It does what is shown below, but only after you approve it. {_waits_text(attempt)}",
        shown=f"What it does:\n{calls}",
        choices={"yes": "The step runs.", "no": "The step is not begun, and counts as refused."},
        schema=YES_NO,
        otherwise="the step is not begun, and counts as refused.",
        priority="high",
    )
    return _ask_about(state, attempt, form, "a person approves it first")


def _undo_text(state: State, attempt: Attempt) -> str:
    undo = state.plan.by_id[attempt.step].undo
    if undo == IRREVERSIBLE:
        return "\n- It cannot be undone, even if a later failure undoes everything else."
    use = state.config.tools.undos.get(undo)
    if use is None:
        return ""
    return f"\n- What undoes it: {shorten(use_text(use, state.config.tools), QUESTION_TEXT_MAX)}"


def ask_person(state: State, attempt: Attempt, person: PersonUse) -> ClarificationRequested:
    """Return the question to a person who does a step, or who checks its result."""
    if attempt.phase is AttemptPhase.ACT:
        form = make_form(
            f"Have you done {_step_text(state, attempt)}, as the instructions below say?",
            about=f"The plan gives this step to a person. {_waits_text(attempt)}",
            shown=shorten(person.instructions, QUESTION_TEXT_MAX),
            choices={DONE: "The step goes on to its check, or is done.", NOT_DONE: "The attempt counts as failed."},
            otherwise="the attempt counts as failed.",
        )
        return _ask_about(state, attempt, form, "a person does it")
    shown = shorten(person.instructions, QUESTION_TEXT_MAX)
    if attempt.work:
        diff = f"git diff {attempt.base[:16]} {attempt.work[:16]}"
        shown += f"\n\nThe work is not merged yet. In the workspace, `{diff}` shows it."
    form = make_form(
        f"Does the result of {_step_text(state, attempt)} pass, checked as the instructions below say?",
        about=f"The plan gives this check to a person. {_waits_text(attempt)}",
        shown=shown,
        choices={CHECK_PASSES: "The check passes, and the plan goes on.", CHECK_FAILS: "The attempt counts as failed."},
        otherwise="the attempt counts as failed.",
    )
    return _ask_about(state, attempt, form, "a person checks it")


def ask_outcome(state: State, attempt: Attempt) -> ClarificationRequested:
    """Return the question about what an interrupted call has done."""
    use = tool_use(state.config, state.plan, attempt)
    form = outcome_question("" if use is None else use.tool, _step_text(state, attempt))
    return _ask_about(state, attempt, form, "the outcome is unknown", node=attempt.question_node)


def _ask_about(state: State, attempt: Attempt, form: AskedForm, why: str, *, node: str = "") -> ClarificationRequested:
    return ClarificationRequested(
        **form.form,
        question_id=new_id(state.run.questions),
        node=node or attempt.at_work,
        why=f"{attempt.step}: {why}",
        blocks=(attempt.step,),
        for_people=True,
    )


def _step_text(state: State, attempt: Attempt) -> str:
    name = state.plan.by_id[attempt.step].name
    title = f" ({one_line(name, _NAME_MAX)})" if name and name != attempt.step else ""
    return f"the step '{one_line(attempt.step, _NAME_MAX)}'{title}"


def _waits_text(attempt: Attempt) -> str:
    return f"The step '{one_line(attempt.step, _NAME_MAX)}' waits for the answer, and so do the steps that need it."
