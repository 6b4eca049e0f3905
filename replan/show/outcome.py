"""What a run came to, for people: the proved plan, or why there is none, how far it got, and what to do next."""

from rich.text import Text

from replan.result import Result
from replan.show.console import line
from replan.show.plan import plan_lines
from replan.show.tree import finding_line
from replan.show.words import counted, money

FINDINGS_MAX = 5
"""Findings of the last rejection that are shown; `replan show RUN --tree` has all."""

_NEXT = {
    "budget_exhausted": "run it again with a larger limit, such as --max-calls; `show {run} --tree` says where it went",
    "all_pruned": "state the problem more fully, or use another model; `show {run} --tree` has every rejection",
    "backtrack_ceiling": "use a workflow with larger backtrack budgets, or another model; `show {run} --tree` says why",
    "cancelled": "what was validated is kept; `show {run} --tree` shows it",
    "failed": "mend the cause and run it again; `log {run}` has the details",
}


def outcome_lines(result: Result) -> list[Text]:
    """Return the whole report."""
    if result.succeeded:
        return [*plan_lines(result.plan), Text(""), *_warnings(result), _proof(result), _used(result)]
    title = {"waiting": "Waiting for you", "parked": "Parked", "running": "Running"}.get(result.status, "No plan")
    lines = [line(f"{title}{f': {result.outcome}' if result.outcome else ''}", "bold")]
    if result.why:
        lines.append(line(result.why))
    if result.question is not None:
        lines.append(line(str(result.question["text"])))
    lines += _path(result)
    if result.findings:
        lines += [Text(""), line("The last rejection", "bold")]
        lines += [Text("   ").append_text(line(finding_line(one), "red")) for one in result.findings[:FINDINGS_MAX]]
    lines += [Text(""), _used(result)]
    if result.status == "finished":
        lines.append(line(f"Next: {_NEXT[result.outcome].format(run=result.run_id)}", "cyan"))
    return lines


def _warnings(result: Result) -> list[Text]:
    return [line(finding_line(one), "yellow") for one in result.findings[:FINDINGS_MAX]]


def _path(result: Result) -> list[Text]:
    if not result.path:
        return [line("No step was accepted.")]
    lines = [Text(""), line("Accepted so far", "bold")]
    for step in result.path:
        text = Text("   ").append_text(line(step.node))
        lines.append(text.append(f"  score {step.score:.2f}", style="dim"))
    return lines


def _proof(result: Result) -> Text:
    """Say what the plan guard proved."""
    facts = result.proof
    said = f"Proved at level {facts.get('level', 'of its own guard')}"
    if facts.get("assurance") is not None:
        said += f", assurance {facts['assurance']}"
    handed = [str(step) for step in facts.get("escalations", ())]
    if handed:
        said += f"; {', '.join(handed[:8])} may hand over to a person"
    return line(f"{said}.", "green")


def _used(result: Result) -> Text:
    calls, tokens = counted(result.calls, "model call"), counted(result.tokens, "token")
    return line(f"Run {result.run_id}: {calls}, {tokens}, {money(result.cost_usd)}.", "dim")
