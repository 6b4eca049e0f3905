"""What to do after a run without a plan, by what its last rejection found. Pure."""

from collections.abc import Mapping, Sequence

from actors.planning.result import Result
from actors.values.findings import Code, Finding

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
