"""The result of an execution as lines for people: the checklist, the goals, and the revisions of the plan. Pure."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from actors.execution.goals import GoalStatus
from actors.execution.result import ExecutionResult, ShownGoal, ShownRevision, ShownStep, StepStatus
from actors.execution.undo import effect_text
from actors.plans.plan_text import basis_of, field_line, step_details
from actors.run.advice import advice, draft_command
from actors.run.result import heading, message_lines, question_lines, usage_line
from actors.values.findings import Finding, summary_of
from actors.values.flow import Checklist, ChecklistItem, NodeState
from actors.values.format import format_count, printable
from actors.values.lines import BLANK, Line, Style, StyledSpan, diff_lines, indent_line, line

_MARKS: dict[StepStatus, tuple[str, Style]] = {
    StepStatus.PENDING: ("·", "dim"),
    StepStatus.RUNNING: (">", "cyan"),
    StepStatus.WAITING: ("?", "yellow"),
    StepStatus.SUCCEEDED: ("✓", "green"),
    StepStatus.FAILED: ("✗", "red"),
    StepStatus.UNKNOWN: ("?", "red"),
    StepStatus.NOT_NEEDED: ("-", "dim"),
    StepStatus.NOT_DONE: ("·", "yellow"),
}
FINDINGS_MAX = 3
"""The largest number of findings that the checklist shows for each step."""
TOKENS_MAX = 20
"""The largest number of tokens that the report of a result shows in one list. Further tokens are only counted."""


def result_lines(result: ExecutionResult, program: str) -> list[Line]:
    """Return the lines of the full result, with all earlier revisions."""
    return _lines(result, program, full=True)


def brief_lines(result: ExecutionResult, program: str) -> list[Line]:
    """Return the lines of the short result: the steps of the current plan, and why earlier plans ended."""
    return _lines(result, program, full=False)


def _lines(result: ExecutionResult, program: str, *, full: bool) -> list[Line]:
    head, plan = list(heading(result, "Finished")), list(_plan_lines(result, full=full))
    if result.succeeded and not full:  # The steps and the demands already show the reason.
        head, plan = head[:1], plan[len(result.revisions) == 1 :]
    lines = [*head, *question_lines(result, program)]
    for revision, following in pairwise(result.revisions):
        lines += [BLANK, *_revision_lines(revision, following, full=full)]
    lines += [*([BLANK] if len(lines) > 1 else []), *plan, *message_lines(result), BLANK, usage_line(result)]
    return [*lines, *_advice_lines(result, program)]


def _plan_lines(result: ExecutionResult, *, full: bool) -> Iterator[Line]:
    name = str(result.revisions[-1].plan_id) if result.revisions else "none"
    revised = f", revision {result.revision}" if result.revision > 1 else ""
    yield line(f"Plan {name}{revised}", "bold")
    for step in result.steps:
        yield from step_lines(step)
    rows = list(_end_lines(result, full=full))
    yield from ([BLANK, *rows] if rows else ())


def _end_lines(result: ExecutionResult, *, full: bool) -> Iterator[Line]:
    shown = {row.requirement for row in result.demands.rows if row.end} if result.demands and not full else set()
    for goal in result.goals:
        if goal.id not in shown:
            yield indent_line(f"goal {goal.status}: {goal.text}")
    for effect in result.undo:
        style: Style = "dim" if effect.status in ("undone", "by_hand", "not_done") else "yellow"
        yield indent_line(f"{effect.step} (call {effect.call}): {effect_text(effect)}", style)
    if full or result.missing:
        yield _tokens_line("holds", result.holds)
    if result.missing:
        yield _tokens_line("lacks", result.missing)
    if result.next:
        yield _tokens_line("next", result.next)
    for finding in result.violations:
        yield indent_line(f"violated: {finding.message}", "red")
    for finding in result.unsure:
        yield indent_line(f"nobody can tell: {finding.message}", "yellow")
    for item in result.not_checked:
        yield indent_line(f"not checked: {item.kind}: {printable(item.text, 200)}", "dim")


def _revision_lines(revision: ShownRevision, following: ShownRevision, *, full: bool) -> Iterator[Line]:
    yield line(f"Plan {revision.plan_id}, revision {revision.number}", "bold")
    if not full:
        done = sum(1 for step in revision.steps if step.status is StepStatus.SUCCEEDED)
        yield indent_line(f"{format_count(done, 'step')} succeeded", "dim")
    for step in revision.steps:
        if full or step.status in (StepStatus.FAILED, StepStatus.UNKNOWN):
            yield from step_lines(step)
    if not following.edited_by:
        level = revision.level.replace("_", " ")
        yield indent_line(f"then a {level}: {revision.ended_by}", "yellow")
        return
    yield indent_line(f"then edited by {following.edited_by}:", "yellow")
    yield from diff_lines(following.changes)


def step_lines(step: ShownStep) -> Iterator[Line]:
    """Yield the line of a step in a checklist, and then lines about why it failed."""
    mark, style = _MARKS[step.status]
    text = Line((StyledSpan("   "), StyledSpan(f"{mark} ", style), *line(step.step, "bold").spans), 5)
    if step.name != step.step:
        text += Line((StyledSpan("  "), *line(step.name).spans))
    facts = list(_step_facts(step))
    if facts:
        text += Line((StyledSpan("  "), *line(f"({', '.join(facts)})", "dim").spans))
    yield text
    if step.status in (StepStatus.FAILED, StepStatus.UNKNOWN, StepStatus.RUNNING, StepStatus.WAITING):
        for finding in step.findings[:FINDINGS_MAX]:
            yield indent_line(f"{finding.code}: {summary_of(finding)}", "red", columns=5)


def _step_facts(step: ShownStep) -> Iterator[str]:
    if step.status in (StepStatus.NOT_NEEDED, StepStatus.NOT_DONE):
        yield str(step.status).replace("_", " ")
    if step.status is StepStatus.PENDING and step.contingent:
        yield "only after a failure"
    if step.status is StepStatus.SUCCEEDED and not step.attempts:
        yield "by hand"
    if step.status is StepStatus.SUCCEEDED and step.attempts and step.check_must_fail:
        yield "its check failed, as expected"
    if step.outcome and step.status is StepStatus.SUCCEEDED:
        yield step.outcome
    if step.phase:
        yield step.phase
    begun = (StepStatus.FAILED, StepStatus.RUNNING, StepStatus.WAITING)
    is_only = step.retry_budget == 1 and step.status in begun  # Its status says that it was begun.
    if step.attempts > 1 or (step.attempts and step.status is not StepStatus.SUCCEEDED and not is_only):
        yield f"{format_count(step.attempts, 'attempt')} of {step.retry_budget}"
    if step.visits > 1:
        yield format_count(step.visits, "visit")
    if step.seconds is not None and step.seconds >= 0.05:
        yield f"{step.seconds:.1f} s"


def _tokens_line(name: str, tokens: tuple[str, ...]) -> Line:
    text = ", ".join(tokens[:TOKENS_MAX]) or "nothing"
    more = f" and {len(tokens) - TOKENS_MAX} more" if len(tokens) > TOKENS_MAX else ""
    return field_line(name, f"{text}{more}", 6)


def _advice_lines(result: ExecutionResult, program: str) -> list[Line]:
    step = advice(result, program)
    if not step and result.reopened_by == "requirement":
        tell = f"`{program} tell {result.run_id} TEXT --as requirement` changes the task"
        step = f"{tell}; then `{program} resume {result.run_id}` makes a new plan"
    lines = [line(f"Next: {step}.", "cyan")] if step else []
    if result.has_draft:
        written = draft_command(result.run_id, program)
        lines.append(line(f"The remaining steps, as a plan that is not proved: {written}", "dim"))
    return lines


_STEPS: Mapping[StepStatus, NodeState] = {
    StepStatus.PENDING: NodeState.OPEN,
    StepStatus.RUNNING: NodeState.CURRENT,
    StepStatus.WAITING: NodeState.WAITING,
    StepStatus.SUCCEEDED: NodeState.DONE,
    StepStatus.FAILED: NodeState.FAILED,
    StepStatus.UNKNOWN: NodeState.FAILED,
    StepStatus.NOT_NEEDED: NodeState.SKIPPED,
    StepStatus.NOT_DONE: NodeState.OPEN,
}
_GOALS: Mapping[GoalStatus, NodeState] = {
    GoalStatus.PENDING: NodeState.OPEN,
    GoalStatus.ACHIEVED: NodeState.DONE,
    GoalStatus.FAILED: NodeState.FAILED,
    GoalStatus.BLOCKED: NodeState.SKIPPED,
    GoalStatus.DROPPED: NodeState.SKIPPED,
}


def step_states(result: ExecutionResult) -> dict[str, NodeState]:
    """Return the state of each step of the current plan; the keys are the ids of the steps."""
    return {step.step: _STEPS[step.status] for step in result.steps}


def checklist_of(result: ExecutionResult) -> Checklist | None:
    """Return the checklist of an execution; None before it has begun."""
    if not result.revisions:
        return None
    revised = f", revision {result.revision}" if result.revision > 1 else ""
    details = step_details(result.plan_json)
    return Checklist(
        title=f"{result.revisions[-1].plan_id}{revised}",
        items=tuple(_step_item(step, details.get(step.step, ())) for step in result.steps),
        goals=tuple(_goal_item(goal) for goal in result.goals),
        holds=_first_tokens(result.holds),
        missing=_first_tokens(result.missing),
        next=_first_tokens(result.next),
        basis=basis_of(result.plan_json),
    )


def _step_item(step: ShownStep, details: tuple[Line, ...]) -> ChecklistItem:
    status = str(step.status).replace("_", " ")
    facts = tuple(fact for fact in _step_facts(step) if fact != status)
    findings = () if step.status is StepStatus.SUCCEEDED else step.findings
    rows = [_finding_text(finding) for finding in findings[:FINDINGS_MAX]]
    if len(findings) > FINDINGS_MAX:
        rows.append(f"and {format_count(len(findings) - FINDINGS_MAX, 'more finding')}")
    return ChecklistItem(step.step, step.name, _STEPS[step.status], status, facts, tuple(rows), details)


def _finding_text(finding: Finding) -> str:
    more = f"\n{finding.message}" if "\n" in finding.message.strip() else ""
    return f"{finding.code}: {summary_of(finding)}{more}"


def _goal_item(goal: ShownGoal) -> ChecklistItem:
    return ChecklistItem(goal.id, goal.text, _GOALS[goal.status], str(goal.status))


def _first_tokens(tokens: tuple[str, ...]) -> tuple[str, ...]:
    more = len(tokens) - TOKENS_MAX
    return tokens if more <= 0 else (*tokens[:TOKENS_MAX], f"and {more:,} more")
