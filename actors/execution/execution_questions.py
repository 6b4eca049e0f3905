"""The questions of an execution about a step or a trouble, and what their answers do. Pure."""

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
from actors.values.format import shorten
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
"""A mapping from each answer to the level of the decision that follows. `BY_HAND` is not listed, because this answer
only reports the step as done."""

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
    TRY_AGAIN: "The step is tried again, with all its attempts.",
    BY_HAND: "The step counts as done, and the plan goes on.",
    REPLAN: "A new plan for the same goals is made. It starts from the tokens that hold now.",
    REVISE_GOALS: "A new plan is made. The new plan may have other goals.",
    GO_ON: "Nothing is changed, and the plan goes on.",
    LOOK_AGAIN: "The run checks again what the plan needs. Provide what is missing before you answer.",
    UNDO_ALL: "The run undoes all its calls, the last call first. Then the run ends.",
    GIVE_UP: "The run ends, and its goals are not reached.",
}
_FINDINGS_SHOWN = 5


def question_of(state: State, trouble: Trouble, *, again: bool, plan: bool) -> AskedForm:
    """Return the question about a trouble.

    `again` says whether the step may be tried again. `plan` says whether a new plan can be made. If a step's outcome or
    values come from its output, no person can report the step as done.
    """
    by_hand = not (trouble.step and state.plan.reads_output(state.config.tools, trouble.step))
    finding = trouble.findings[0]
    if trouble.cause is TroubleCause.PLANNER_ASKS and finding.asks is not None:
        return _planner_question(state, trouble, finding.asks)
    subject = f"The plan (revision {state.revision}) is interrupted, and no step begins before you answer."
    lines = [reason.message for reason in _shown_findings(trouble)]
    if trouble.cause in (TroubleCause.PLAN_REJECTED, TroubleCause.REPLAN_FAILED):
        lines.append(f"Attempts to make a new plan so far: {state.replans}.")
    if state.config.author_lacks:
        lines.append(f"No new plan can be made: {state.config.author_lacks}.")
    listed = _options(trouble, again=again, plan=plan, by_hand=by_hand, undo=can_undo(state.effects, state.ends))
    cause = _TROUBLES[trouble.cause].format(step=f"the step '{one_line(trouble.step, 200)}'")
    return make_form(
        f"What should the run do, now that {cause}?",
        about=subject,
        shown="\n".join(lines),
        choices={option: DOES[option] for option in listed},
        otherwise="the run ends, and its goals are not reached.",
    )


def _planner_question(state: State, trouble: Trouble, inquiry: Inquiry) -> AskedForm:
    rest = [reason.message for reason in _shown_findings(trouble) if reason.where != faults.REPLAN]
    mended = "\n".join(["The new plan must solve these problems:", *rest]) if rest else ""
    below = block("\n\n".join(filter(None, (inquiry.shown, mended))))
    return add_consequences(
        inquiry.model_copy(update={"shown": below}),
        about=f"Revision {state.revision + 1} needs a new plan. The planning run waits for the answer.",
        otherwise="the planning run goes on without an answer.",
    )


def _shown_findings(trouble: Trouble) -> list[Finding]:
    """Return the findings that a question shows.

    A guard's findings about a new plan are left out, because they are for models.
    """
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
    TroubleCause.ESCALATED: "{step} has failed and the plan does not handle this failure",
    TroubleCause.REQUIREMENT_VIOLATED: "a step did something that a requirement forbids",
    TroubleCause.UNKNOWN_OUTCOME: "nobody knows whether {step} was done",
    TroubleCause.ASSUMPTION_BROKEN: "{step} has failed, although the plan says that it never fails",
    TroubleCause.INVARIANT_BROKEN: "an invariant of the plan is broken",
    TroubleCause.DEAD_END: "no step can begin and the goal is not reached",
    TroubleCause.GOAL_FAILED: "a goal can no longer be reached",
    TroubleCause.REQUIREMENTS_CHANGED: "the requirements have changed and this run cannot make a new plan",
    TroubleCause.REPLAN_FAILED: "no new plan was found",
    TroubleCause.STEP_FORBIDDEN: "a requirement forbids {step}, which has not begun",
    TroubleCause.PLAN_REJECTED: "the last new plan was rejected",
    TroubleCause.PLAN_EDITED: "a person has edited the plan",
    TroubleCause.WORLD_LACKS: "something that the plan needs is missing",
    TroubleCause.PLANNER_ASKS: "the planning run needs an answer",
}


QUESTION_TEXT_MAX = 2_000
"""The largest number of characters of a text from the plan or from a tool that a question shows, such as a command."""
_NAME_MAX = 200


def ask_approval(state: State, attempt: Attempt) -> ClarificationRequested:
    """Return the question that asks whether a step may run."""
    uses = [use for use in state.plan.uses(state.config.tools, attempt.step) if not isinstance(use, PersonUse)]
    calls = "\n".join(f"- {shorten(use_text(use, state.config.tools), QUESTION_TEXT_MAX)}" for use in uses)
    again = f", attempt {attempt.number}" if attempt.number > 1 else ""
    calls += _undo_text(state, attempt)
    form = make_form(
        f"May {_step_text(state, attempt)} run{again}?",
        about=f"The step does what is shown below, but only after you approve the step. {_waits_text(attempt)}",
        shown=f"What the step does:\n{calls}",
        choices={"yes": "The step runs.", "no": "The step does not begin, and counts as refused."},
        schema=YES_NO,
        otherwise="the step does not begin, and counts as refused.",
        priority="high",
    )
    return _ask_about(state, attempt, form, "a person must approve the step first")


def _undo_text(state: State, attempt: Attempt) -> str:
    undo = state.plan.by_id[attempt.step].undo
    if undo == IRREVERSIBLE:
        return "\n- The step cannot be undone, even if a later failure undoes all other steps."
    use = state.config.tools.undos.get(undo)
    if use is None:
        return ""
    return f"\n- What undoes the step: {shorten(use_text(use, state.config.tools), QUESTION_TEXT_MAX)}"


def ask_person(state: State, attempt: Attempt, person: PersonUse) -> ClarificationRequested:
    """Return the question to a person who must do a step or check the result of a step."""
    if attempt.phase is AttemptPhase.ACT:
        form = make_form(
            f"Have you done {_step_text(state, attempt)}, as the instructions below say?",
            about=f"The plan gives this step to a person. {_waits_text(attempt)}",
            shown=shorten(person.instructions, QUESTION_TEXT_MAX),
            choices={
                DONE: "The step is checked next. Without a check, the step is done.",
                NOT_DONE: "The attempt counts as failed.",
            },
            otherwise="the attempt counts as failed.",
        )
        return _ask_about(state, attempt, form, "a person must do the step")
    shown = shorten(person.instructions, QUESTION_TEXT_MAX)
    if attempt.work:
        diff = f"git diff {attempt.base[:16]} {attempt.work[:16]}"
        shown += f"\n\nThe work is not merged yet. In the workspace, `{diff}` shows the work."
    form = make_form(
        f"Does the result of {_step_text(state, attempt)} pass the check that the instructions below describe?",
        about=f"The plan gives this check to a person. {_waits_text(attempt)}",
        shown=shown,
        choices={CHECK_PASSES: "The check passes, and the plan goes on.", CHECK_FAILS: "The attempt counts as failed."},
        otherwise="the attempt counts as failed.",
    )
    return _ask_about(state, attempt, form, "a person must check the result")


def ask_outcome(state: State, attempt: Attempt) -> ClarificationRequested:
    """Return the question about what an interrupted call did."""
    use = tool_use(state.config, state.plan, attempt)
    form = outcome_question("" if use is None else use.tool, _step_text(state, attempt))
    return _ask_about(state, attempt, form, "nobody knows what the call did", node=attempt.question_node)


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
