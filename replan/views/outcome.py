"""What a run came to, for people: the proved plan, or why there is none, how far it got, and what to do next."""

from actors.values.answers import TEXT, wanted
from actors.values.findings import Code
from actors.values.lines import BLANK, Line, Span, indented, line
from replan.setup.command_name import program
from replan.views.advice import provider_advice
from replan.views.format import counted, money, spent
from replan.views.plan import plan_lines, value_lines
from replan.views.result import Result
from replan.views.tree import finding_line
from runtime.core.ledger import ZERO

FINDINGS_MAX = 5
"""Findings of the last rejection that are shown; `replan show RUN --tree` has all."""

_NEXT = {
    "all_pruned": "state the problem more fully, or use another model",
    "backtrack_ceiling": "use a workflow with larger backtrack budgets, or another model",
    "cancelled": "what was validated is kept",
}
_FLAGS = {
    "no calls left": "--max-calls",
    "no tokens left": "--max-tokens",
    "no money left": "--max-cost",
    "no active time left": "--active-time",
    "the deadline has passed": "--deadline",
}
"""The flag of the limit that ran out, by what the run says at its end."""
_PER_CALL = ("no tokens left", "no money left")


def outcome_lines(result: Result) -> list[Line]:
    """Return the whole report."""
    if result.succeeded and result.plan is None:
        return [*_artifacts(result), *_warnings(result), _used(result)]
    if result.succeeded:
        return [*plan_lines(result.plan), BLANK, *_warnings(result), _proof(result), _used(result)]
    running = "Held up" if result.held_up else "Running"
    title = {"waiting": "Waiting for you", "parked": "Parked", "running": running}.get(result.status, "No plan")
    rows = [line(f"{title}{f': {result.outcome}' if result.outcome else ''}", "bold")]
    if result.why and not any(one.message[:100] in result.why for one in result.findings):
        rows.append(line(result.why))
    if result.question is not None:
        rows += [indented(part, "bold") for part in str(result.question["text"]).split("\n")]
        if result.question["answer_schema"] != TEXT:
            rows.append(indented(f"Answer: {wanted(result.question['answer_schema'])}.", "dim"))
        more = len(result.open_questions) - 1
        if more > 0:
            rows.append(
                indented(f"And {counted(more, 'more question')}: `{program()} questions {result.run_id}`.", "dim")
            )
    rows += _messages(result)
    rows += _path(result)
    if result.findings and result.question is None:
        rows += [BLANK, line("The last rejection", "bold")]
        rows += [indented(finding_line(one), "red") for one in result.findings[:FINDINGS_MAX]]
    rows += [BLANK, _used(result)]
    if result.status == "finished" or result.cause:
        rows.append(line(f"Next: {_advice(result)}.", "cyan"))
    return rows


def _advice(result: Result) -> str:
    """Return the next step after a run without a plan."""
    if result.fault is not None:
        return f"{provider_advice(result.fault)}; `{program()} log {result.run_id}` has the details"
    if result.outcome == "failed":
        return f"this is a bug: report it; `{program()} log {result.run_id}` has the details, the log has the traceback"
    tree = f"`{program()} show {result.run_id} --tree` explains every attempt"
    if result.cause == "home_budget" and result.status == "parked":
        return "raise `home_budget` in config.yaml and resume it, or start a run whose requests are smaller"
    if result.cause == "home_budget":
        return f"run it again on the next day (UTC), or with a larger `home_budget` in config.yaml; {tree}"
    if result.outcome == "backtrack_ceiling" and not result.goes_back:
        return f"use a search that goes back, such as depth_first, or another model; {tree}"
    if result.outcome == "budget_exhausted":
        alone = "the first call alone may take more; " if not result.calls and result.why in _PER_CALL else ""
        return f"{alone}run it again with more {_FLAGS.get(result.why, 'time or calls')}; {tree}"
    if any(one.code == Code.REVIEW_UNANSWERED for one in result.findings):
        return f"run it again, and approve the artifact or say what is wrong with it; {tree}"
    return f"{_NEXT[result.outcome]}; {tree}"


def _warnings(result: Result) -> list[Line]:
    return [line(finding_line(finding), "yellow", hang=3) for finding in result.findings[:FINDINGS_MAX]]


def _artifacts(result: Result) -> list[Line]:
    """Return what a workflow without a plan has made: the artifacts that nothing else builds on."""
    rows: list[Line] = []
    for step in result.path:
        if step.last:
            rows += [line(step.node, "bold"), *value_lines(step.value)]
            rows += [BLANK, line(f"Accepted by {step.guard}.", "green")]
    return rows


def _messages(result: Result) -> list[Line]:
    """Say what the user told the run, and what of it no prompt has shown yet."""
    if not result.messages:
        return []
    told = (f"{said.kind}: {said.text}{'' if said.seen else '  (not yet seen)'}" for said in result.messages)
    return [BLANK, line("You said", "bold"), *(indented(one, "") for one in told)]


def _path(result: Result) -> list[Line]:
    if not result.path:
        return [*([BLANK] if result.messages else []), line("No step was accepted.")]
    steps = (indented(step.node) + Line((Span(f"  score {step.score:.2f}", "dim"),)) for step in result.path)
    return [BLANK, line("Accepted so far", "bold"), *steps]


def _proof(result: Result) -> Line:
    """Say what the plan guard proved."""
    facts = result.proof
    if "level" not in facts:  # A guard of the user's own has its own idea of what it lets pass.
        guards = [step.guard for step in result.path if step.value == result.plan]
        return line(f"Accepted by {guards[-1] if guards else 'its guard'}.", "green")
    said = f"Proved at level {facts['level']}"
    if facts.get("assurance") is not None:
        said += f", assurance {facts['assurance']}"
    handed = [str(step) for step in facts.get("escalations", ())]
    if handed:
        said += f"; {', '.join(handed[:8])} may hand over to a person"
    return line(f"{said}.", "green")


def _used(result: Result) -> Line:
    calls, tokens = counted(result.calls, "model call"), counted(result.tokens, "token")
    said = f"Run {result.run_id}: {calls}, {tokens}, {money(result.cost_usd)}"
    if result.unknown != ZERO:
        said += f"; charged as unknown: {spent(result.unknown, known=result.cost_usd is not None)}"
    return line(f"{said}.", "dim")
