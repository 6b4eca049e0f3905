"""The result of a planning run: its plan, the accepted path and the findings. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NotRequired

from typing_extensions import TypedDict

from actors.config.model_spec import reads_text
from actors.demands.table import Conclusion, DemandTable, Proof, conclusion, demand_table, proof_of, table_texts
from actors.demands.user_texts import UserTexts, user_texts
from actors.guards.recon import normalise_artifact
from actors.guards.requirements_covered import add_stated_requirements
from actors.planning.drafts import Draft, DraftJson, best_draft, check_options, plan_of, plan_steps
from actors.planning.events import NeededAnswer
from actors.planning.planning_questions import question_of
from actors.planning.state import Node, State
from actors.planning.story import AttemptTree, TreeAttempt, tree_of
from actors.plans.plan_text import ProvedPlan, basis_of, read_proved_plan
from actors.plans.reader import read_plan
from actors.run.result import RunResult, RunView, result_fields
from actors.values.findings import Finding
from actors.values.format import format_count
from runtime.models.replies import Parsed


@dataclass(frozen=True, slots=True)
class PathStep:
    """An accepted artifact on the accepted path of a run, or on its best path so far."""

    step: str
    node: str
    value: Any
    """The artifact's JSON value, or its text if it is not JSON."""
    score: float
    guard: str = ""
    last: bool = False
    """Whether no other artifact on the path was made from this artifact."""


class PathStepJson(TypedDict):
    """An accepted artifact on the `path` of a planning run."""

    step: str
    """The step that made the artifact."""
    node: str
    """The attempt that made the artifact."""
    value: Any
    """The artifact's JSON value, or its text if it is not JSON."""
    score: float
    """The guard's score, from 0 to 1."""


class EditedPlan(TypedDict):
    """An edit of a plan by a person."""

    node: str
    """The attempt that made the plan."""
    edited_by: str
    """The person who edited the plan, in words."""
    changes: list[str]
    """The lines of YAML that the edit changes, each after `+`, `-` or a space."""


class PlanningJson(TypedDict):
    """The keys that `--json` prints for planning runs, in addition to the keys of every run."""

    revision: int
    """The number of times that the search went back."""
    plan: Any
    """The accepted plan, as JSON; null without a plan."""
    path: list[PathStepJson]
    """The accepted path, or the best path so far if the run has not succeeded."""
    findings: list[dict[str, Any]]
    """The findings of the last rejection, or the warnings on the plan."""
    edits: NotRequired[list[EditedPlan]]
    """The edits of plans by people, the oldest first; absent if there are no edits."""
    draft: NotRequired[DraftJson]
    """The best plan of a run that ended without an accepted plan; absent for all other runs."""
    needs_answer: NotRequired[dict[str, Any]]
    """The question that the run needs answered but must not ask."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(RunResult):
    """The result of a planning run."""

    revision: int
    plan_json: Any
    path: tuple[PathStep, ...]
    """The accepted artifacts in order: the winning path, or the best path so far if the run has not succeeded."""
    findings: tuple[Finding, ...]
    tree: AttemptTree = field(default_factory=AttemptTree)
    proof: Proof = field(default_factory=Proof)
    """The facts that the plan's guard has measured for the proof."""
    needed: NeededAnswer | None = None
    """The question that the run leaves to its parent, but needs answered; None if the run needs no answer."""
    user: UserTexts | None = None
    """The user's texts, for the table of demands; None for a child run, because its parent has the table."""
    reads_text: bool = True
    """Whether the author of the plan reads the text. A language model reads the text, a template does not."""
    output_tokens: int = 0
    """The token limit of replies of the last rejected step; 0 if no step was rejected."""
    edits: tuple[EditedPlan, ...] = ()
    draft: Draft | None = None
    """The best plan that the run wrote, not proved. None before the end of the run, or if it wrote no plan or has a
    proved plan.
    """

    @property
    def has_draft(self) -> bool:
        """Whether the run has a draft."""
        return self.draft is not None

    @property
    def succeeded(self) -> bool:
        """Whether the run succeeded. A successful run has a proved plan, unless the workflow has no plan step."""
        return self.outcome == "success"

    def facts(self) -> tuple[str, ...]:
        """Return whether the plan is proved, and its number of steps; empty without a plan."""
        if self.plan is None:
            return ()
        return ("proved" if self.proved else "not proved", format_count(len(self.plan.steps), "step"))

    def attempts_at(self, step: str) -> tuple[TreeAttempt, ...]:
        """Return all attempts at a step in their order; empty if the step was never tried."""
        return tuple(attempt for attempt in self.tree if attempt.step == step)

    @cached_property
    def plan(self) -> ProvedPlan | None:
        """The proved plan; None if there is no plan, or if the accepted artifact is not a JSON object."""
        if not isinstance(self.plan_json, Mapping):
            return None
        texts = () if self.demands is None else table_texts(self.demands)
        return read_proved_plan(self.plan_json, self.conclusion.text, texts)

    @cached_property
    def demands(self) -> DemandTable | None:
        """The table of the user's demands; None without a plan, and for a child run."""
        return _table(self.user, self.plan_json, [step.value for step in self.path])

    @cached_property
    def conclusion(self) -> Conclusion:
        """The conclusion about the accepted plan, in words; `No plan` if there is no plan."""
        if self.plan_json is None:
            return Conclusion(False, "No plan")
        guards = [step.guard for step in self.path if step.value == self.plan_json]
        return conclusion(self.proof, self.demands, reads_text=self.reads_text, guard=guards[-1] if guards else "")

    @property
    def proved(self) -> bool:
        """Whether the plan is proved, and every demand of the user is in a step."""
        return self.conclusion.proved

    def details(self) -> Mapping[str, Any]:
        """Return the keys of `PlanningJson`."""
        return {
            "revision": self.revision,
            "plan": self.plan_json,
            "path": [
                {"step": step.step, "node": step.node, "value": step.value, "score": step.score} for step in self.path
            ],
            "findings": [finding.model_dump(mode="json", exclude_defaults=True) for finding in self.findings],
            **({"edits": list(self.edits)} if self.edits else {}),
            **({} if self.draft is None else {"draft": self.draft.to_json()}),
            **({} if self.needed is None else {"needs_answer": self.needed.model_dump(mode="json")}),
        }


def result_of(view: RunView) -> Result:
    """Return the result of a run."""
    state: State = view.state
    with_inbox, path, config = view.with_inbox, best_path(state), state.config
    fields = result_fields(view, state.run, with_inbox.run, price_known=config.price_known)
    questions = [with_inbox.run.questions[name] for name in with_inbox.run.open_questions]
    if questions:
        fields["question"] = question_of(with_inbox, view.run_id, questions[0])
    won = fields["outcome"] == "success"
    rejected = None if won else _last_rejection(state)
    plans = [node for node in path if config.roles.get(node.step) == "plan"]
    plan = accepted_value(plans[-1]) if won and plans else None
    user = None if state.run.child else _user_texts_of(state)
    return Result(
        **fields,
        revision=state.revision,
        plan_json=plan,
        proof=proof_of(plans[-1].verdict.facts) if won and plans and plans[-1].verdict else Proof(),
        path=tuple(_path_steps(path)),
        tree=tree_of(state),
        findings=_findings(state, path, won=won),
        user=user,
        reads_text=(reads_text(config.model) and not basis_of(plan)) or config.workflow.plans_from_tools,
        needed=None if state.end is None else state.end.question,
        output_tokens=0 if rejected is None else config.steps[rejected.step].output_tokens_max,
        edits=tuple(_edits(state)) if state.edits else (),
        draft=_draft(state, user) if fields["outcome"] else None,
    )


def _edits(state: State) -> Iterator[EditedPlan]:
    from actors.plans.plan_text import plan_diff  # noqa: PLC0415 -- few plans are edited

    for edit in state.edits:
        changes = plan_diff(json.loads(edit.before), json.loads(edit.after))
        yield EditedPlan(node=edit.node, edited_by=edit.who, changes=changes)


def _draft(state: State, user: UserTexts | None) -> Draft | None:
    if (best := best_draft(state)) is None:
        return None
    node, verdict = best
    plan = plan_of(node)
    assert plan is not None
    table = _table(user, plan, [accepted_value(one) for one in _with_parents(state, node) if one is not node])
    editable = not state.run.child and node.step == plan_steps(state)[-1]
    if verdict is None:
        return Draft(node.node, "", 0.0, plan, (), demands=table, editable=editable)
    options = check_options(proof_of(verdict.facts).level, state.config.workflow)
    return Draft(node.node, verdict.judges, verdict.score, plan, verdict.errors, options, table, editable)


def demands_with(state: State, node: Node, value: Mapping[str, Any]) -> DemandTable | None:
    """Return the table of demands of a run with another plan (JSON) in place of an attempt's plan.

    The result is None if the plan or the user's texts cannot be compared.
    """
    made = [accepted_value(parent) for parent in _with_parents(state, node)[1:]]
    return _table(_user_texts_of(state), value, made)


def _table(user: UserTexts | None, value: Any, made: Sequence[Any]) -> DemandTable | None:
    """Return the table of demands of a plan.

    `made` are the accepted values that the plan builds on. Requirements in one of these values are added to the plan.
    """
    plan = None if value is None else read_plan(value)[0]
    if plan is None or user is None:
        return None
    recon = (item for item in made if isinstance(item, Mapping) and "steps" not in item and item.get("requirements"))
    return demand_table(user, add_stated_requirements(plan, next(recon, None)))


def _user_texts_of(state: State) -> UserTexts:
    later = (*state.run.texts_of("requirement"), *state.run.texts_of("note"))
    # If a workflow plans from tools, tokens name the goal, so the problem has no words to compare.
    in_words = not state.config.workflow.plans_from_tools
    problem, end = state.specification if in_words else "", state.end
    return user_texts(problem, later, state.run.clarifications, None if end is None else end.demands)


def best_path(state: State) -> tuple[Node, ...]:
    """Return the best path: the artifacts accepted now, or an earlier accepted artifact with all its parent artifacts.

    The longest path is the best. Among equally long paths, the highest sum of scores decides. If the sums are equal
    too, the path that is accepted now comes first, then the oldest path. A search that compares plans uses the same
    scores, so the best path of a successful run is its winning path. A plan that a person edited after the end is the
    plan of the run.
    """
    place = {step: number for number, step in enumerate(state.latest.progress)}
    if state.edited:
        path = _with_parents(state, state.nodes[state.edited])
        return tuple(sorted(path, key=lambda node: place[node.step]))
    passed = [node for node in state.nodes.values() if node.verdict is not None and node.verdict.passed]
    best: tuple[Node, ...] = tuple(
        state.nodes[slot.accepted] for slot in state.latest.progress.values() if slot.accepted is not None
    )
    for node in passed:
        path = _with_parents(state, node)
        if _rank(path) > _rank(best):
            best = path
    return tuple(sorted(best, key=lambda node: place[node.step]))


def _path_steps(path: tuple[Node, ...]) -> Iterator[PathStep]:
    built_on = {parent for node in path for parent in node.parents}
    for node in path:
        if node.verdict is not None:
            last = node.node not in built_on
            yield PathStep(node.step, node.node, accepted_value(node), node.verdict.score, node.verdict.judges, last)


def _with_parents(state: State, node: Node) -> tuple[Node, ...]:
    nodes = {node.node: node}
    pending = list(node.parents)
    while pending:
        parent = state.nodes[pending.pop()]
        if parent.node not in nodes:
            nodes[parent.node] = parent
            pending.extend(parent.parents)
    return tuple(nodes.values())


def _rank(path: tuple[Node, ...]) -> tuple[int, float]:
    return len(path), sum(node.verdict.score for node in path if node.verdict)


def _findings(state: State, path: tuple[Node, ...], *, won: bool) -> tuple[Finding, ...]:
    if won:
        return tuple(finding for node in path if node.verdict for finding in node.verdict.findings)
    rejected = _last_rejection(state)
    return () if rejected is None or rejected.verdict is None else rejected.verdict.findings


def _last_rejection(state: State) -> Node | None:
    rejections = [node for node in state.nodes.values() if node.verdict is not None and not node.verdict.passed]
    return rejections[-1] if rejections else None


def accepted_value(node: Node) -> Any:
    """Return the JSON value of an attempt's artifact for later steps; its text if it is not JSON."""
    if node.artifact is None:
        return None
    artifact = node.artifact
    if node.verdict is not None and node.verdict.passed:
        artifact = normalise_artifact(artifact, node.verdict.findings)
    return artifact.value.value if isinstance(artifact.value, Parsed) else artifact.content
