"""What a run came to: the object that `--json` prints, and the projections behind it. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from actors.planning.state import Node, PlanningState, State
from actors.run.calls import given_up
from actors.run.inbox import UserMessage
from actors.run.questions import Question
from actors.search.moves import Search
from actors.values.findings import Finding
from replan.views.format import stamp
from runtime.core.cost import MICRO
from runtime.core.ledger import ZERO, Amount
from runtime.models.port import Fault
from runtime.models.replies import Parsed

STATUSES = ("running", "waiting", "parked", "finished")


@dataclass(frozen=True, slots=True)
class PathStep:
    """One accepted artifact on the path: its step, node, JSON value, the guard's score and its name.

    `last` says that no other artifact on the path builds on it.
    """

    step: str
    node: str
    value: Any
    score: float
    guard: str = ""
    last: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """A run as its user sees it.

    `outcome` is empty until it has finished, and so is `why`, unless it was parked though nobody wished it, or its host
    cannot drive it; `plan` is the proved plan, else None; `path` the accepted artifacts in order: the winning path, or
    the best that was validated; `findings` what speaks against going on (the last rejection), or the warnings on the
    plan; `cost_usd` is None where the price is unknown. `proof` is what the guard measured on the plan: its `level`,
    `assurance` and `escalations`. `fault` is what the provider did last, where that ended the run. `question` is the
    first open question, `open_questions` are the ids of all of them. `goes_back` says that the search may go back to an
    earlier step. `unknown` is the part of the calls, tokens and cost that stands for calls whose bill nobody knows.
    """

    run_id: str
    status: str
    outcome: str
    why: str
    calls: int
    tokens: int
    cost_usd: float | None
    revision: int
    plan: Any
    path: tuple[PathStep, ...]
    findings: tuple[Finding, ...]
    question: dict[str, Any] | None = None
    open_questions: tuple[str, ...] = ()
    messages: tuple[UserMessage, ...] = ()
    cause: str = ""
    goes_back: bool = True
    fault: Fault | None = None
    proof: Mapping[str, Any] = field(default_factory=dict)
    unknown: Amount = ZERO

    @property
    def succeeded(self) -> bool:
        """Whether every guard passed: there is a proved plan, or, where the workflow makes none, all that it makes."""
        return self.outcome == "success"

    @property
    def held_up(self) -> bool:
        """Whether a host should drive the run, and cannot; `why` says why."""
        return self.status == "running" and bool(self.why)

    def to_json(self) -> dict[str, Any]:
        """Return the one object that `--json` prints."""
        shown: dict[str, Any] = {"run_id": self.run_id, "status": self.status}
        if self.status == "finished":
            shown["outcome"] = self.outcome
        if self.status == "finished" or self.why:
            shown["why"] = self.why
        shown |= {
            "calls": self.calls,
            "tokens": self.tokens,
            "cost_usd": self.cost_usd,
            "revision": self.revision,
            "plan": self.plan,
            "path": [
                {"step": step.step, "node": step.node, "value": step.value, "score": step.score} for step in self.path
            ],
            "findings": [finding.model_dump(mode="json", exclude_defaults=True) for finding in self.findings],
        }
        if self.question is not None:
            shown |= {"question": self.question, "open_questions": list(self.open_questions)}
        if self.messages:
            shown["messages"] = [{"kind": said.kind, "text": said.text, "seen": said.seen} for said in self.messages]
        return shown


def result_of(run: str, state: PlanningState, status: str, heard: PlanningState | None = None) -> Result:
    """Return the result of a run in a state; `status` is its row's.

    `heard` is the state with what people have said meanwhile: it tells the messages, and which questions are open.
    """
    heard = heard or state
    begun = state if isinstance(state, State) else None
    path = () if begun is None else best_path(begun)
    # What is under way is not used yet; where nobody waits for it any more, it may have been charged.
    ledger = state.run.ledger
    charged = ledger.spent + ledger.unknown if status == "running" else ledger.committed
    finished = state.run.finished
    won = finished is not None and finished.outcome == "success"
    plans = [node for node in path if begun is not None and _is_plan(begun, node)]
    questions = [question for question in heard.run.questions.values() if question.open]
    known = begun is not None and begun.config.price is not None
    held = state.run.parked_reason if status in ("parked", "running") else ""
    return Result(
        run_id=run,
        status=status,
        outcome=str(finished.outcome) if finished else "",
        why=finished.why if finished else held,
        cause=finished.cause if finished else "home_budget" if held and not state.run.handover else "",
        goes_back=begun is None or begun.config.search is not Search.LINEAR,
        fault=given_up(state.run.calls) if finished and finished.cause == "provider" else None,
        calls=charged.calls,
        tokens=charged.tokens,
        cost_usd=charged.micro_usd / MICRO if known else None,
        unknown=charged - ledger.spent,
        revision=0 if begun is None else begun.revision,
        plan=_value(plans[-1]) if won and plans else None,
        proof=plans[-1].verdict.facts if won and plans and plans[-1].verdict else {},
        path=tuple(_path_steps(path)),
        findings=() if begun is None else _findings(begun, path, won=won),
        question=question_json(run, heard, questions[0]) if questions and isinstance(heard, State) else None,
        open_questions=tuple(question_name(run, one) for one in questions),
        messages=heard.run.messages,
    )


def question_name(run: str, question: Question) -> str:
    """Return the id that people answer a question by."""
    return f"{run}/{question.request.question_id}"


def question_json(run: str, state: State, question: Question) -> dict[str, Any]:
    """Return an open question as plain data; a review has the artifact, as its author wrote it."""
    request = question.request
    node = state.nodes[request.node]
    shown = {
        "id": question_name(run, question),
        "run_id": run,
        "step": request.step,
        "text": request.text,
        "why": request.why,
        "blocks": list(request.blocks),
        "asked": stamp(question.at),
        "answer_schema": dict(request.answer_schema),
    }
    if request.review and node.artifact is not None:
        shown |= {"node": request.node, "artifact": node.artifact.shown}
    return shown


def best_path(state: State) -> tuple[Node, ...]:
    """Return the accepted nodes that stand together: all that is accepted now, or the longest that ever was (S36)."""
    passed = [node for node in state.nodes.values() if node.verdict is not None and node.verdict.passed]
    best: tuple[Node, ...] = tuple(
        state.nodes[slot.accepted] for slot in state.latest.progress.values() if slot.accepted is not None
    )
    for node in passed:
        path = _with_parents(state, node)
        if _rank(path) > _rank(best):
            best = path
    place = {step: number for number, step in enumerate(state.latest.progress)}
    return tuple(sorted(best, key=lambda node: place[node.step]))


def _path_steps(path: tuple[Node, ...]) -> Iterator[PathStep]:
    built_on = {parent for node in path for parent in node.parents}
    for node in path:
        if node.verdict is not None:
            last = node.node not in built_on
            yield PathStep(node.step, node.node, _value(node), node.verdict.score, node.verdict.guard, last)


def _with_parents(state: State, node: Node) -> tuple[Node, ...]:
    found = {node.node: node}
    rest = list(node.parents)
    while rest:
        parent = state.nodes[rest.pop()]
        if parent.node not in found:
            found[parent.node] = parent
            rest.extend(parent.parents)
    return tuple(found.values())


def _rank(path: tuple[Node, ...]) -> tuple[int, float]:
    return len(path), sum(node.verdict.score for node in path if node.verdict)


def _findings(state: State, path: tuple[Node, ...], *, won: bool) -> tuple[Finding, ...]:
    if won:
        return tuple(finding for node in path if node.verdict for finding in node.verdict.findings)
    rejections = [node for node in state.nodes.values() if node.verdict is not None and not node.verdict.passed]
    return rejections[-1].verdict.findings if rejections and rejections[-1].verdict else ()


def _is_plan(state: State, node: Node) -> bool:
    return state.config.roles.get(node.step) == "plan"


def _value(node: Node) -> Any:
    if node.artifact is None:
        return None
    value = node.artifact.value
    return value.value if isinstance(value, Parsed) else node.artifact.content
