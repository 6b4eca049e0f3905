"""The questions about a step of a plan: its approval, its work by hand, its check, and what became of a call. Pure."""

from actors.execution.attempts import DONE, HOLDS, HOLDS_NOT, NOT_DONE, tool_use
from actors.execution.state import Attempt, Phase, State
from actors.run.outcome_question import outcome_question
from actors.run.questions import ClarificationRequested, new_id
from actors.tools.use_text import use_text
from actors.tools.uses import PersonUse
from actors.values.answers import YES_NO
from actors.values.format import shortened
from actors.values.question_form import AskedForm, asked_form, one_line

QUESTION_TEXT_MAX = 2_000
"""Characters of a plan's or a tool's text that a question shows."""
_NAME_MAX = 200


def ask_approval(state: State, attempt: Attempt) -> ClarificationRequested:
    """Return the question whether a step may run."""
    uses = [use for use in state.plan.uses(state.config.tools, attempt.step) if not isinstance(use, PersonUse)]
    calls = "\n".join(f"- {shortened(use_text(use, state.config.tools), QUESTION_TEXT_MAX)}" for use in uses)
    again = f", attempt {attempt.number}" if attempt.number > 1 else ""
    form = asked_form(
        f"May {_step(state, attempt)} run{again}?",
        about=f"It does what is shown below, and nothing of it before the answer. {_waits(attempt)}",
        shown=f"What it does:\n{calls}",
        choices={"yes": "The step runs.", "no": "The step is not begun, and counts as refused."},
        schema=YES_NO,
        otherwise="the step is not begun, and counts as refused.",
    )
    return _question(state, attempt, form, "a person approves it first")


def ask_person(state: State, attempt: Attempt, person: PersonUse) -> ClarificationRequested:
    """Return the question to a person who does a step, or who checks what it has done."""
    if attempt.phase is Phase.ACT:
        form = asked_form(
            f"Have you done {_step(state, attempt)}, as the instructions below say?",
            about=f"The plan gives this step to a person. {_waits(attempt)}",
            shown=shortened(person.instructions, QUESTION_TEXT_MAX),
            choices={DONE: "The step goes on to its check, or is done.", NOT_DONE: "The attempt counts as failed."},
            otherwise="the attempt counts as failed.",
        )
        return _question(state, attempt, form, "a person does it")
    form = asked_form(
        f"Does the result of {_step(state, attempt)} pass, checked as the instructions below say?",
        about=f"The plan gives this check to a person. {_waits(attempt)}",
        shown=shortened(person.instructions, QUESTION_TEXT_MAX),
        choices={HOLDS: "The check passes, and the plan goes on.", HOLDS_NOT: "The attempt counts as failed."},
        otherwise="the attempt counts as failed.",
    )
    return _question(state, attempt, form, "a person checks it")


def ask_outcome(state: State, attempt: Attempt) -> ClarificationRequested:
    """Return the question what became of a call that broke off."""
    use = tool_use(state.config, state.plan, attempt)
    form = outcome_question("" if use is None else use.tool, _step(state, attempt))
    return _question(state, attempt, form, "the outcome is unknown", node=attempt.question_node)


def _question(state: State, attempt: Attempt, form: AskedForm, why: str, *, node: str = "") -> ClarificationRequested:
    return ClarificationRequested(
        **form.form,
        question_id=new_id(state.run.questions),
        node=node or attempt.at_work,
        why=f"{attempt.step}: {why}",
        blocks=(attempt.step,),
        for_people=True,
    )


def _step(state: State, attempt: Attempt) -> str:
    name = state.plan.by_id[attempt.step].name
    title = f" ({one_line(name, _NAME_MAX)})" if name and name != attempt.step else ""
    return f"the step '{one_line(attempt.step, _NAME_MAX)}'{title}"


def _waits(attempt: Attempt) -> str:
    return f"The step '{one_line(attempt.step, _NAME_MAX)}' waits for the answer, and so do the steps that need it."
