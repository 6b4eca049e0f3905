"""The result of a planning run for people: the proved plan, or why there is none, and the next step. Pure."""

from collections.abc import Mapping, Sequence

from actors.guards.plan_settings import GUARD_CATALOG
from actors.planning.events import ONLY_FORWARD
from actors.planning.result import Result
from actors.plans.plan_lines import plan_lines, value_lines
from actors.plans.plan_summary import plan_summary
from actors.run.advice import advice
from actors.run.ending import EARLY
from actors.run.result import heading, message_lines, question_lines, used
from actors.run.words import in_words
from actors.values.findings import Code, Finding, finding_line
from actors.values.lines import BLANK, Line, StyledSpan, indented, line

UNANSWERED = "answer in the problem what was asked, and run it again"
"""The advice where a question has no answer and the run takes none any more."""

_BY_CODE: Mapping[str, str] = {
    Code.FILTERED: "reword what the provider's filter may object to in the problem, or use another model",
    Code.NOT_IN_TEXT: "name the files, functions and tests that matter in the problem, or use another model",
    Code.NOTHING_FOUND: "say more of the facts in the problem: files, errors, how to reproduce it",
    Code.UNKNOWN_GUARD: "add the guards that plans may name to `guard_catalog` in the workflow",
    Code.BUDGET_OVER_R_MAX: "raise `r_max` in the workflow, or split the problem",
    Code.TOO_COMPLEX: "split the problem, or lower `target_guard_level` in the workflow",
    Code.PLAN_TOO_LARGE: "split the problem",
    Code.ASSURANCE_TOO_LOW: "ask for a lower `assurance` in the workflow, or use another model",
    Code.REVIEW_UNANSWERED: "run it again, and approve the artifact or say what is wrong with it",
    Code.REVIEW_REJECTED: "run it again with what the review asks for in the problem",
}
_BY_FAMILY: Mapping[str, str] = {
    "reply": "use another model, or a server that keeps to the JSON that it is asked for",
    "requirements": UNANSWERED,
    "tool": "make the tool work that failed",
    "child": "look at the run of the step that failed",
}


def cut_advice(result: Result, program: str) -> str:
    """Return the next step after a run was parked because its replies were cut or filtered again and again."""
    resume = f"`{program} resume {result.run_id}"
    if Code.CUT in result.why:  # Also where a child run says so, whose findings are its own.
        more = f"{resume} --output-tokens-max {2 * result.output_tokens or 'N'}` allows longer replies"
        return f"{more}, `-m MODEL` asks another model; what was accepted is kept"
    return f"{resume} -m MODEL` asks another model, {resume}` the same once more; what was accepted is kept"


def advice_for(findings: Sequence[Finding], output_tokens: int) -> str:
    """Return the next step, as a clause without a full stop; empty where the findings suggest none.

    `output_tokens` is the limit of the replies of the step that failed. The first error counts, as for the policy.
    """
    first = next((finding for finding in findings if finding.severity == "error"), None)
    if first is None:
        return ""
    if first.code == Code.CUT:
        return f"allow longer replies than {output_tokens:,} tokens: `--output-tokens-max {2 * output_tokens}`"
    return _BY_CODE.get(first.code) or _BY_FAMILY.get(first.code.split(".", 1)[0], "")


FINDINGS_MAX = 5
"""Findings of the last rejection that are shown; `replan show RUN --tree` has all."""

_NEXT = {
    "all_pruned": "state the problem more fully, or use another model",
    "not_understood": "state the problem as software work in English, or use a language model (-m NAME)",
    "backtrack_ceiling": "use a workflow with larger backtrack budgets, or another model",
    "cancelled": "what was validated is kept",
}
_PER_CALL = ("no tokens left", "no money left")


def brief_lines(result: Result, program: str = "replan") -> list[Line]:
    """Return the report with a plan in short, and the commands that show and write all of it."""
    if not result.succeeded or result.plan_json is None:
        return outcome_lines(result, program)
    run = result.run_id
    more = f"All of it: {program} show {run} --full; as a checklist: {program} export {run} -o plan.md"
    return [*outcome_lines(result, program, full=False), *_guard_hint(result, program), line(more, "dim")]


def outcome_lines(result: Result, program: str = "replan", *, full: bool = True) -> list[Line]:
    """Return the whole report; `program` is how the user calls this program. Without `full`, the plan is shortened."""
    if result.succeeded and result.plan_json is None:
        return [*_artifacts(result), *_warnings(result), used(result)]
    if result.succeeded:
        plan = plan_lines(result.plan_json) if full else plan_summary(result.plan_json)
        return [*plan, BLANK, *_warnings(result), _conclusion(result), used(result)]
    rows = list(heading(result, "No plan"))
    early = result.why.partition(":")[0] in EARLY
    if not early and any(finding.message[:100] in result.why for finding in result.findings):
        rows = rows[:1]  # The findings below say the reason in full.
        rows += [line(f"{ONLY_FORWARD.capitalize()}.")] if _only_forward(result) else []
    rows += [*question_lines(result, program), *message_lines(result), *_path(result)]
    if result.findings and result.question is None:
        rows += [BLANK, line("The last rejection", "bold")]
        rows += [indented(finding_line(finding), "red") for finding in result.findings[:FINDINGS_MAX]]
    rows += [BLANK, used(result)]
    if result.outcome:
        rows.append(line(f"What {result.outcome} means: {program} explain {result.outcome}", "dim"))
    if result.status == "finished" or result.cause:
        rows.append(line(f"Next: {_advice(result, program)}.", "cyan"))
    return rows


def _guard_hint(result: Result, program: str) -> list[Line]:
    """Return where the guards are explained that stand in brackets behind the steps: the first one is the example."""
    steps = result.plan_json.get("steps", ()) if isinstance(result.plan_json, dict) else ()
    guards = [step.get("guard") for step in steps if isinstance(step, dict)]
    example = next((guard for guard in guards if guard in GUARD_CATALOG), None)
    return [] if example is None else [line(f"In brackets: what checks a step; {program} explain {example}", "dim")]


def _advice(result: Result, program: str) -> str:
    """Return the next step after a run without a plan."""
    if result.cause == "reply":
        return cut_advice(result, program)
    common = advice(result, program)
    if common and result.outcome != "budget_exhausted":
        return common
    tree = f"`{program} show {result.run_id} --tree` explains every attempt"
    by_finding = advice_for(result.findings, result.output_tokens)
    if _only_forward(result) and not _unreadable(result):
        return f"use a search that goes back, such as depth_first, or another model; {tree}"
    if result.outcome == "budget_exhausted":
        alone = "the first call alone may take more; " if not result.calls and result.why in _PER_CALL else ""
        first = f"{by_finding}; " if _unreadable(result) else ""
        return f"{alone}{first}{common}; {tree}"
    if result.outcome == "cancelled":
        return f"{_NEXT[result.outcome]}; {tree}"
    if result.reopened_by == "requirement" and by_finding == UNANSWERED:
        run = result.run_id
        return f"tell the run: `{program} tell {run} TEXT --as requirement`, then `{program} resume {run}`; {tree}"
    return f"{by_finding or _NEXT[result.outcome]}; {tree}"


def _only_forward(result: Result) -> bool:
    """Tell whether the run ended because its search does not go back to the steps above the rejected one."""
    return result.outcome == "all_pruned" and result.why.endswith(ONLY_FORWARD)


def _unreadable(result: Result) -> bool:
    """Tell whether the last rejected reply could not be read: more calls of the same kind do not help."""
    return any(finding.code.startswith("reply.") for finding in result.findings)


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


def _path(result: Result) -> list[Line]:
    if not result.path:
        return [*([BLANK] if result.messages else []), line("No step was accepted.")]
    steps = (
        indented(in_words(step.node)) + Line((StyledSpan(f"  score {step.score:.2f}", "dim"),)) for step in result.path
    )
    return [BLANK, line("Accepted so far", "bold"), *steps]


def _conclusion(result: Result) -> Line:
    """Return what may be said of the plan: proved, or why not."""
    return line(f"{result.conclusion.text}.", "green" if result.proved or result.demands is None else "yellow")
