"""Steps that a coding agent carries out: its prompt, the fields of its calls, and the commits of an attempt. Pure.

Such an attempt records the workspace, has the agent work in a worktree of that commit, records its work as a commit,
has the guard check that commit, and merges it. The commits are stored in the journal, so nothing depends on a ref that
a program could move.
"""

from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from actors.execution import faults
from actors.execution.attempts import CHECKS, fail_phase
from actors.execution.forbidden import changed_paths, outside_scope, too_many_files
from actors.execution.state import Attempt, AttemptPhase, State
from actors.prompting.render import render
from actors.run.tools import ToolFinished
from actors.tools.agent_work import AgentWork
from actors.tools.snapshot_texts import read_snapshot
from actors.tools.uses import AgentTerms, ToolUse, canonical
from actors.values.artifacts import Context
from actors.values.findings import Finding


def call_fields(state: State, attempt: Attempt, use: ToolUse) -> dict[str, Any]:
    """Return the arguments of the call of an attempt's phase, and the commit or the reservation that it needs."""
    if use.agent is not None and attempt.phase is AttemptPhase.ACT:
        prompt = agent_prompt(state, attempt, use.agent)
        arguments = canonical({"prompt": prompt, "base": attempt.base, "name": attempt.node})
        return {"arguments": arguments, "micro_usd_max": use.agent.micro_usd_max}
    arguments = state.config.tools.arguments(use, state.values)
    return {"arguments": arguments, "commit": attempt.work if attempt.phase in CHECKS else ""}


def agent_prompt(state: State, attempt: Attempt, terms: AgentTerms) -> str:
    """Return the prompt of an agent: its instructions, the step, the problem, and why earlier work was rejected."""
    step, run = state.plan.by_id[attempt.step], state.run
    parts = [terms.instructions, f"Step of the plan: {step.name or step.step_id}"]
    if step.description and step.description != step.name:
        parts.append(step.description)
    if state.config.problem:
        parts.append(f"The problem that the plan solves:\n\n{state.config.problem}")
    context = Context(
        specification="\n\n".join(parts),
        requirements=run.texts_of("requirement"),
        notes=run.texts_of("note"),
        retry=state.feedback.get(attempt.name, ()),
    )
    rendered = render(state.config.agent_prompt, context)
    return f"{rendered.system}\n\n{rendered.user}"


def with_commit(state: State, before: Attempt, after: Attempt, event: ToolFinished) -> Attempt:
    """Return an attempt with the commit that its phase has made, of the workspace or of an agent's work.

    Work that a requirement forbids fails the attempt before it is checked. After another phase, the attempt is
    returned unchanged.
    """
    if len(after.todo) == len(before.todo):
        return after
    try:
        if before.phase is AttemptPhase.BASE:
            taken = read_snapshot(event.output)
            if taken.ref:
                return replace(after, base=taken.id)
            why = taken.notice or "the workspace is not the top folder of a git repository"
            return fail_phase(before, faults.permanent(before, "workspace:snapshot", why))
        if before.phase is AttemptPhase.DIFF:
            work = AgentWork.model_validate_json(event.output)
            findings = _against_requirements(state, before, work.files)
            return fail_phase(before, *findings) if findings else replace(after, work=work.commit)
    except ValidationError:
        return fail_phase(before, faults.permanent(before, "worktree:diff", "its output cannot be read"))
    return after


def _against_requirements(state: State, attempt: Attempt, files: tuple[str, ...]) -> tuple[Finding, ...]:
    kept = state.constraints.requirements
    findings = (
        *changed_paths(kept, files, attempt.step),
        *outside_scope(kept, files, attempt.step),
        *too_many_files(kept, state.touched.union(files), files, attempt.step),
    )
    return tuple(faults.not_merged(attempt, finding.message) for finding in findings)
