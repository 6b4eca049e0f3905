"""The context of a classifier: a rejection, the inputs of the step, and earlier decisions about it. Pure."""

from itertools import islice

from actors.planning.state import Branch, Node, State
from actors.policy.cause import CLASSIFIER
from actors.prompting.render import Rendered, render
from actors.values.artifacts import Context, Feedback


def failure_context(state: State, branch: Branch, node: str) -> Context:
    """Return the rejection as the one entry of `retry`, and the step's earlier ones as `escalation`, oldest first."""
    workflow, failed = state.config.workflow, state.nodes[node]
    built_on = ((state.nodes[parent].step, state.nodes[parent].artifact) for parent in failed.parents)
    earlier = (attempt for attempt in state.attempts_at(branch, failed.step) if attempt.decision is not None)
    shown = islice(earlier, workflow.feedback_window)
    return Context(
        specification=state.specification,
        constraints=workflow.constraints,
        requirements=state.run.texts_of("requirement"),
        dependencies={step: artifact for step, artifact in built_on if artifact is not None},
        retry=(Feedback(node, _rejection(failed), failed.repeats),),
        escalation=tuple(Feedback(attempt.node, _earlier_rejection(attempt)) for attempt in shown)[::-1],
        clarifications=state.run.clarifications,
        notes=state.run.texts_of("note"),
        settings={"role": CLASSIFIER},
    )


def rendered_failure(state: State, branch: Branch, node: str, context: Context | None = None) -> Rendered:
    """Return the prompt of a classification; `context` is what it may see, where the caller has it already."""
    return render(state.config.classifier, context or failure_context(state, branch, node), headed=False)


def _rejection(node: Node) -> str:
    """Return a rejection with its artifact: the findings first, since a long artifact is cut."""
    assert node.verdict is not None
    shown = "" if node.artifact is None else f"\n\n{node.artifact.shown}"
    return f"{node.node} ({node.verdict.guard}):\n{_text_with_codes(node)}{shown}"


def _earlier_rejection(node: Node) -> str:
    """Return an earlier rejection with the decision about it."""
    assert node.verdict is not None
    assert node.decision is not None
    decision = " ".join((node.decision.level, *node.decision.targets))
    return f"{node.node} ({node.verdict.guard}):\n{node.rejection_text}\n=> {decision}"


def _text_with_codes(node: Node) -> str:
    assert node.verdict is not None
    codes = ", ".join(dict.fromkeys(finding.code for finding in node.verdict.errors))
    return f"{node.rejection_text}\n[{codes}]" if codes else node.rejection_text
