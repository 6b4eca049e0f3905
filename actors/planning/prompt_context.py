"""The contexts for generators and guards, with both kinds of feedback, made from the state. Pure.

Retry feedback says: "your output for this step was rejected because …". Escalation feedback says: "a later step failed
because of the result of this step". Both kinds of feedback are computed from the nodes and not stored, so they survive
a new visit and a restart. A prompt shows each rejection at most once. A rejection of the step itself is in the retry
history, not in the escalation history. A rejection that became a question is only among the clarifications, with its
answer.
"""

from collections.abc import Container, Sequence
from functools import lru_cache
from itertools import islice

from actors.guards.recon import normalise_artifact
from actors.planning.early_ends import is_cut
from actors.planning.state import Branch, LeftOut, Node, State
from actors.policy.table import CLASSIFIER
from actors.prompting.render import Rendered, render
from actors.search.progress import Search
from actors.values.artifacts import Artifact, Clarified, Context, Feedback
from actors.values.findings import Finding, Verdict
from actors.values.question_form import split_last_question

PREVIEW_MAX = 200
"""The largest number of characters of an artifact that a prompt shows together with the rejection of a later step's
artifact."""


_NONE = frozenset[str]()


def context_for(state: State, branch: Branch, step: str) -> Context:
    """Return the context for the generator and the guard of a step in this state."""
    config, run, progress, facts = state.config, state.run, branch.progress, state.given
    workflow, dependencies = config.workflow, {}
    for parent in config.steps[step].requires:
        artifact = accepted_artifact(state, progress[parent].accepted)
        if artifact is not None:
            dependencies[parent] = artifact
    # Most steps are not rejected, most people say nothing, and most searches never go back: then nothing is called.
    window, answered_nodes = workflow.feedback_window, _answered_rejections(state) if run.questions else _NONE
    attempts = branch.attempts.get(step, ())
    is_rejected = len(attempts) > 1 or (attempts and state.nodes[attempts[0]].rejection_text)
    retry = retry_feedback(state, branch, step, answered_nodes, window) if is_rejected else ()
    causes = escalations(state, branch, step) if branch.replans else ()
    settings = config.settings(step)
    settings["escalations"] = len(causes)
    earlier_answers = (
        Clarified(answer.question, answer.answer, unanswered=answer.unanswered)
        for answer in (() if facts is None else facts.answers)
    )
    settings["may_ask"] = config.search is Search.DEPTH_FIRST and state.questions_left(step) > 0
    return Context(
        specification=state.specification,
        constraints=workflow.constraints,
        requirements=run.texts_of("requirement") if run.messages else (),
        dependencies=dependencies,
        retry=retry,
        escalation=(
            escalation_feedback(state, causes, answered_nodes.union(feedback.node for feedback in retry), window)
            if causes
            else ()
        ),
        afresh=_kept_findings(state, branch, step, answered_nodes, window) if branch.left_out else None,
        clarifications=(*earlier_answers, *run.clarifications),
        notes=run.texts_of("note") if run.messages else (),
        attachments=state.attachments,
        settings=settings,
        given=facts,
        rejected_for=rejection_codes(state, branch, step) if is_rejected else _NONE,
    )


def _answered_rejections(state: State) -> frozenset[str]:
    texts: dict[str, str] = {}
    for clarification in state.run.clarifications:
        if clarification.answer:
            texts[clarification.node] = f"{texts.get(clarification.node, '')}\n{clarification.question}"
    rejections = ((name, state.nodes[name].verdict, text) for name, text in texts.items())
    return frozenset(
        name
        for name, verdict, text in rejections
        if verdict is not None and all(_is_asked(error.message, text) for error in verdict.errors)
    )


def _is_asked(message: str, text: str) -> bool:
    passage, question = split_last_question(message)
    return passage in text and question in text


def render_prompt(state: State, branch: Branch, step: str, context: Context | None = None) -> Rendered:
    """Return the prompt for the step's next attempt. `context` is the step's context, if the caller has it already."""
    prompt = state.config.steps[step].prompt
    if prompt is None:  # A generator that calls no model needs no prompt.
        return Rendered("", "")
    return render(prompt, context or context_for(state, branch, step))


def rejection_codes(state: State, branch: Branch, step: str) -> frozenset[str]:
    """Return the error codes of all rejected attempts at a step, including attempts outside the feedback window."""
    for node in state.attempts_at(branch, step):
        if node.rejection_text:
            return node.rejected_for
    return frozenset()


def retry_feedback(
    state: State, branch: Branch, step: str, answered_nodes: Container[str], window: int
) -> tuple[Feedback, ...]:
    """Return the newest rejections of the step in the whole run, oldest first.

    The result has at most `window` rejections. The result has no rejections of the nodes in `answered_nodes`.
    """
    feedback: list[Feedback] = []
    left_out = branch.left_out.get(step, LeftOut()).attempts
    for node in islice(state.attempts_at(branch, step), len(branch.attempts[step]) - left_out):
        if node.rejection_text and node.node not in answered_nodes:
            feedback.append(Feedback(node.node, node.rejection_text, node.repeats))
            if len(feedback) == window:
                break
    return tuple(feedback[::-1])


def _kept_findings(
    state: State, branch: Branch, step: str, answered_nodes: Container[str], window: int
) -> tuple[str, ...] | None:
    """Return the findings that name something to add or to change, from the rejections that the prompt leaves out.

    Only the newest `window` of these rejections count. Return None if the prompt leaves out no rejections, or if the
    policy shows none of their findings.
    """
    left_out = branch.left_out.get(step)
    if left_out is None or state.config.policy.afresh_shows == "nothing":
        return None
    above = state.config.graph.above[step]
    replans = [state.nodes[name] for name in branch.replans[: left_out.replans]]
    nodes = [state.nodes[name] for name in branch.attempts.get(step, ())[: left_out.attempts]]
    nodes += [node for node in replans if step in node.cleared and node.step not in (*above, step)]
    rejected = [node for node in nodes if node.rejection_text and node.node not in answered_nodes]
    return tuple(dict.fromkeys(line for node in rejected[-window:] for line in _lines_with_facts(node)))


def _lines_with_facts(node: Node) -> list[str]:
    if is_cut(node):  # The text has the limit of replies, which may have changed.
        return [node.rejection_text]
    return [_finding_text(finding) for finding in node.verdict.errors if finding.has_fact] if node.verdict else []


def escalation_feedback(
    state: State, causes: Sequence[Node], left_out: Container[str], window: int
) -> tuple[Feedback, ...]:
    """Return one entry for each rejection that made the search redo a step, with all rejections of the same visit.

    `causes` are the rejections that made the search redo the step. The result has no rejections in `left_out`. The
    result has the newest entries, at most `window`, oldest first.
    """
    feedback: list[Feedback] = []
    for last in reversed(causes):
        cycle = [name for name in last.cycle if name not in left_out]
        if cycle:
            feedback.append(Feedback(last.node, _story(state, last, cycle)))
            if len(feedback) == window:
                break
    return tuple(feedback[::-1])


def explain(verdict: Verdict) -> str:
    """Return a verdict's errors as lines for a prompt."""
    return "\n".join(map(_finding_text, verdict.errors)) or f"- {verdict.guard}"


def _finding_text(finding: Finding) -> str:
    return f"- {finding.where + ': ' if finding.where else ''}{finding.message}"


def escalations(state: State, branch: Branch, step: str) -> list[Node]:
    """Return the rejections of later steps that made the search redo this step, oldest first.

    Rejections of steps that this step depends on are left out.
    """
    replans = branch.replans[branch.left_out.get(step, LeftOut()).replans :]
    if not replans:
        return []
    above = state.config.graph.above[step]
    causes = (state.nodes[name] for name in replans)
    return [node for node in causes if step in node.cleared and node.step not in above]


def _story(state: State, last: Node, cycle: Sequence[str]) -> str:
    lines, of_cut = list[str](), set[str]()
    for name in cycle:
        cause = state.nodes[name]
        assert cause.verdict is not None
        if cause.rejection_text in of_cut:
            continue
        if is_cut(cause):
            of_cut.add(cause.rejection_text)
        lines += [f"{name} ({cause.verdict.guard}):", cause.rejection_text]
    for parent in last.parents:
        artifact = state.nodes[parent].artifact
        if artifact is not None:
            lines.append(f"{parent}: {_preview(artifact.content)}")
    return "\n".join(lines)


@lru_cache(maxsize=256)  # Many prompts show the same path.
def _preview(content: str) -> str:
    line = " ".join(content.split())
    return line if len(line) <= PREVIEW_MAX else f"{line[:PREVIEW_MAX]}..."


def accepted_artifact(state: State, node: str | None) -> Artifact | None:
    """Return the artifact of a node in the form that later steps get; None if there is no artifact."""
    attempt = state.nodes.get(node or "")
    if attempt is None or attempt.artifact is None or attempt.verdict is None:
        return None if attempt is None else attempt.artifact
    return normalise_artifact(attempt.artifact, attempt.verdict.findings)


def failure_context(state: State, branch: Branch, node: str) -> Context:
    """Return the context for a classification.

    `retry` is the rejection, and `escalation` has the earlier rejections of the step.
    """
    workflow, failed_node = state.config.workflow, state.nodes[node]
    built_on = ((state.nodes[parent].step, state.nodes[parent].artifact) for parent in failed_node.parents)
    earlier_attempts = (
        attempt for attempt in state.attempts_at(branch, failed_node.step) if attempt.decision is not None
    )
    newest = islice(earlier_attempts, workflow.feedback_window)
    return Context(
        specification=state.specification,
        constraints=workflow.constraints,
        requirements=state.run.texts_of("requirement"),
        dependencies={step: artifact for step, artifact in built_on if artifact is not None},
        retry=(Feedback(node, _rejection(failed_node), failed_node.repeats),),
        escalation=tuple(Feedback(attempt.node, _earlier_rejection(attempt)) for attempt in newest)[::-1],
        clarifications=state.run.clarifications,
        notes=state.run.texts_of("note"),
        settings={"role": CLASSIFIER},
    )


def render_failure_prompt(state: State, branch: Branch, node: str, context: Context | None = None) -> Rendered:
    """Return the prompt for a classification. `context` is the node's context, if the caller has it already."""
    return render(state.config.classifier, context or failure_context(state, branch, node), headed=False)


def _rejection(node: Node) -> str:
    """Return the text of a rejection, and the rejected artifact.

    The findings come first, because a long artifact is cut at its end.
    """
    assert node.verdict is not None
    artifact_text = "" if node.artifact is None else f"\n\n{node.artifact.shown}"
    return f"{node.node} ({node.verdict.guard}):\n{_text_with_codes(node)}{artifact_text}"


def _earlier_rejection(node: Node) -> str:
    assert node.verdict is not None
    assert node.decision is not None
    decision = " ".join((node.decision.level, *node.decision.targets))
    return f"{node.node} ({node.verdict.guard}):\n{node.rejection_text}\n=> {decision}"


def _text_with_codes(node: Node) -> str:
    assert node.verdict is not None
    codes = ", ".join(dict.fromkeys(finding.code for finding in node.verdict.errors))
    return f"{node.rejection_text}\n[{codes}]" if codes else node.rejection_text
