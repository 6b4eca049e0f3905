"""The findings of an execution: what is wrong with a step's result, with a tool, or with the plan. Pure.

The policy decides by codes and tags. Messages quote the output of tools, and are only for people and models.
"""

from collections.abc import Iterable

from actors.execution.events import PlanEdited
from actors.execution.goals import Goal
from actors.execution.state import Attempt, AttemptPhase
from actors.run.tools import ToolFinished
from actors.values.findings import Code, Finding, ReasonTag
from actors.values.format import printable
from actors.values.question_form import Inquiry

MESSAGE_MAX = 2_000
"""The largest number of characters in a finding's message. Of a longer output of a tool, the end is kept, because the
summary is at the end.
"""
REPLAN = "replan"
"""The place (`where`) of findings about a replan: about its planning run, or about the new plan."""
_TOOL = (ReasonTag.TOOL_FAILURE,)
_WORDS = {
    AttemptPhase.PRE_CHECK: "the pre-check",
    AttemptPhase.CHECK_PRE: "the check's pre-check",
    AttemptPhase.CHECK: "the check",
    AttemptPhase.BASE: "the snapshot tool",
    AttemptPhase.DIFF: "the diff tool",
    AttemptPhase.MERGE: "the merge tool",
}


def rejected_result(attempt: Attempt, tool: str, event: ToolFinished) -> Finding:
    """Return the finding that a tool reports a failure. The result is rejected, but the tool itself works."""
    how = f": {event.reason}" if event.reason else ""
    return _result_finding(attempt, f"{_describe_call(attempt, tool)} failed{how}", event)


def unreadable_output(attempt: Attempt, tool: str, problem: str, output: str) -> Finding:
    """Return the finding that a tool has succeeded, but its output lacks the outcome or a value."""
    text = f"the result of {_describe_call(attempt, tool)} {problem}"
    shown = _end_of(output.strip())
    return _finding(attempt, Code.NOT_READ, text + (f"\n{shown}" if shown else " (the output is empty)"))


def unexpected_success(attempt: Attempt, tool: str, event: ToolFinished) -> Finding:
    """Return the finding that a tool has succeeded although a failure was expected. The result is rejected."""
    return _result_finding(attempt, f"{_describe_call(attempt, tool)} passed, but should have failed", event)


def _result_finding(attempt: Attempt, text: str, event: ToolFinished) -> Finding:
    match attempt.phase:
        case AttemptPhase.CHECK:
            code = Code.CHECK_FAILED
        case AttemptPhase.PRE_CHECK | AttemptPhase.CHECK_PRE:
            code = Code.PRE_CHECK_FAILED
        case _:
            code = Code.STEP_FAILED
    output = _end_of(event.output.strip())
    return _finding(attempt, code, text + (f"\n{output}" if output else ""))


def refused_work(attempt: Attempt, why: str) -> Finding:
    """Return the finding that an agent's work is not merged because a requirement forbids it."""
    return _finding(attempt, Code.STEP_FAILED, f"the agent's work is not merged: {why}")


def permanent_failure(attempt: Attempt, tool: str, reason: str) -> Finding:
    """Return the finding that a tool cannot be called."""
    return _finding(attempt, Code.TOOL_PERMANENT, f"{_describe_call(attempt, tool)} cannot be called: {reason}", _TOOL)


def transient_failure(attempt: Attempt, tool: str, reason: str) -> Finding:
    """Return the finding that a tool did not finish, for a reason that may be temporary."""
    return _finding(attempt, Code.TOOL_TRANSIENT, f"{_describe_call(attempt, tool)} did not finish: {reason}", _TOOL)


def broken_call(attempt: Attempt, tool: str, event: ToolFinished) -> Finding:
    """Return the finding that a tool broke off by itself. Nobody knows whether the cause is temporary."""
    output = _end_of(event.output.strip())
    text = f"{_describe_call(attempt, tool)} broke off: {event.reason}"
    return _finding(attempt, Code.TOOL_BROKEN, text + (f"\n{output}" if output else ""), _TOOL)


def unknown_outcome(attempt: Attempt, tool: str, reason: str) -> Finding:
    """Return the finding that nobody knows whether a call did its work."""
    what = _describe_call(attempt, tool) if tool else "the tool"
    return _finding(attempt, Code.UNKNOWN_OUTCOME, f"{what} may have done its work: {reason}")


def reported_failure(attempt: Attempt) -> Finding:
    """Return the finding that a person has reported a tool's failure."""
    return _finding(attempt, Code.STEP_FAILED, "a person has reported that the tool ran and failed")


def incomplete_file(attempt: Attempt, finish_reason: str) -> Finding:
    """Return the finding that a model's file is incomplete."""
    if finish_reason == "content_filter":
        return _finding(attempt, Code.FILTERED, "a content filter stopped the reply before the end of the file")
    return _finding(attempt, Code.CUT, "the reply reached its token limit before the end of the file")


def unconfirmed_phase(attempt: Attempt, answer: str) -> Finding:
    """Return the finding that a person has not confirmed a phase of an attempt: the approval, the work or the result.

    `answer` is empty if nobody has answered.
    """
    match attempt.phase:
        case AttemptPhase.APPROVE:
            why = "a person has refused the step" if answer else "nobody has approved the step"
            return _finding(attempt, Code.NOT_APPROVED, f"the step {attempt.step} was not begun: {why}")
        case AttemptPhase.CHECK:
            why = "a person says that the result does not pass the check" if answer else "nobody has checked the result"
            return _finding(attempt, Code.CHECK_FAILED, why)
        case _:
            why = "a person says that the step failed" if answer else "nobody has said that the step was done"
            return _finding(attempt, Code.STEP_FAILED, why)


def broken_assumption(step: str) -> Finding:
    """Return the finding that a step has failed although the plan says that it never fails."""
    message = f"the step {step} failed, but the plan says that it never fails"
    return Finding(code=Code.ASSUMPTION_BROKEN, message=message, where=step)


def broken_invariant(numbers: Iterable[int]) -> Finding:
    """Return the finding that the tokens break invariants.

    `numbers` are the positions of these invariants in the plan.
    """
    places = ", ".join(f"invariants[{number}]" for number in numbers)
    message = f"the tokens that hold now break the plan's {places}"
    return Finding(code=Code.INVARIANT_BROKEN, message=message, where=places)


def dead_end(missing: Iterable[str]) -> Finding:
    """Return the finding that no step is ready and the goal is not reached. `missing` are the goal's missing tokens."""
    tokens = tuple(sorted(missing))
    shown = ", ".join(printable(token, 60) for token in tokens[:10])
    message = f"no step can begin, and these tokens of the goal are missing: {shown}"
    return Finding(code=Code.DEAD_END, message=message, where="goal_state", tokens=tokens)


def failed_prerequisites(pairs: Iterable[tuple[Goal, Goal]]) -> list[Finding]:
    """Return a finding for each pair of a blocked goal and the failed goal that blocks it."""
    tags = (ReasonTag.GOAL_DEPENDENCY_FAILURE,)
    return [
        Finding(
            code=Code.PREREQUISITE_FAILED,
            message=f"the goal {_quote(goal)} needs the goal {_quote(other)}, which can no longer be reached",
            where=goal.id,
            tags=tags,
            tokens=tuple(sorted(other.tokens)),
        )
        for goal, other in pairs
    ]


def _quote(goal: Goal) -> str:
    return repr(printable(goal.text, 200))


def changed_requirements(texts: Iterable[str], edit: PlanEdited | None) -> Finding:
    """Return the finding that the user has changed the requirements.

    `edit` is the edit of the plan that is dropped; None if no edit is dropped.
    """
    message = f"the user requires: {'; '.join(printable(text, 300) for text in texts)}"
    if edit is not None:
        message = f"the plan that {edit.who} has edited is dropped, because {message}"
    return Finding(code=Code.CHANGED, message=message[:MESSAGE_MAX], where="requirements")


def failed_replan(why: str) -> Finding:
    """Return the finding that no new plan was found or proved."""
    return Finding(code=Code.CHILD_UNSUCCESSFUL, message=f"no new plan was found: {why}"[:MESSAGE_MAX], where=REPLAN)


def rejected_plan(why: str) -> Finding:
    """Return the finding that a new plan was found, but must not be executed."""
    message = f"the new plan was rejected: {why}"[:MESSAGE_MAX]
    return Finding(code=Code.CHILD_UNSUCCESSFUL, message=message, where=REPLAN)


def planner_question(inquiry: Inquiry) -> Finding:
    """Return the finding that the planning run of a replan needs a person's answer."""
    return Finding(code=Code.OPEN_QUESTION, message=inquiry.whole, where=REPLAN, asks=inquiry)


def _finding(attempt: Attempt, code: Code, message: str, tags: tuple[ReasonTag, ...] = ()) -> Finding:
    return Finding(code=code, message=message, where=attempt.step, tags=tags)


def _describe_call(attempt: Attempt, tool: str) -> str:
    word = _WORDS.get(attempt.phase) if attempt.phase else None
    return f"{word} {tool!r}" if word else f"the tool {tool!r}"


def _end_of(text: str) -> str:
    return text if len(text) <= MESSAGE_MAX else f"… {text[-MESSAGE_MAX:]}"
