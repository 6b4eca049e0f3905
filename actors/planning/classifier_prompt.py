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
    earlier = (other for other in state.attempts_at(branch, failed.step) if other.decision is not None)
    return Context(
        specification=state.specification,
        constraints=workflow.constraints,
        requirements=state.run.told("requirement"),
        dependencies={step: artifact for step, artifact in built_on if artifact is not None},
        retry=(Feedback(node, _told(failed), failed.repeats),),
        escalation=tuple(Feedback(other.node, _met(other)) for other in islice(earlier, workflow.feedback_window))[
            ::-1
        ],
        clarifications=state.run.clarifications,
        notes=state.run.told("note"),
        settings={"role": CLASSIFIER},
    )


def rendered_failure(state: State, branch: Branch, node: str, context: Context | None = None) -> Rendered:
    """Return the prompt of a classification; `context` is what it may see, where the caller has it already."""
    return render(state.config.classifier, context or failure_context(state, branch, node), headed=False)


def _told(node: Node) -> str:
    """Return what was rejected, and why: the findings first, since a long artifact is cut."""
    assert node.verdict is not None
    shown = "" if node.artifact is None else f"\n\n{node.artifact.shown}"
    return f"{node.node} ({node.verdict.guard}):\n{_coded(node)}{shown}"


def _met(node: Node) -> str:
    """Return an earlier rejection, and what was done about it."""
    assert node.verdict is not None
    assert node.decision is not None
    met = " ".join((node.decision.level, *node.decision.targets))
    return f"{node.node} ({node.verdict.guard}):\n{node.told}\n=> {met}"


def _coded(node: Node) -> str:
    assert node.verdict is not None
    codes = ", ".join(dict.fromkeys(finding.code for finding in node.verdict.errors))
    return f"{node.told}\n[{codes}]" if codes else node.told
