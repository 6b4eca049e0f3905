"""Edits of plans by a person: opens the plan of a run, judges the edited plan, and posts it to the run."""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors.config.step_guards import PlugInFailed, make_step_guard
from actors.demands.table import DemandTable
from actors.execution import edits as rest_edits
from actors.execution.replan_rules import plan_guard, prove
from actors.execution.result import demands_of, revision_views
from actors.execution.state import State
from actors.guards import review
from actors.guards.port import AnyGuard
from actors.handlers.handlers import judge_in_thread, verdict_in_time
from actors.planning import edits as plan_edits
from actors.planning.result import demands_with
from actors.planning.state import State as PlanningState
from actors.plans.plan_text import plan_diff
from actors.plans.reader import read_plan
from actors.run.inbox import EDIT, EDIT_BYTES_MAX
from actors.run.questions import Via
from actors.values.findings import Code, Finding, Verdict, finding_line
from actors.values.format import printable
from replan.runs.families import check_own
from replan.setup.installation import program
from runtime.core.errors import UsageProblem
from runtime.core.events import make_storable
from runtime.core.messages import Mailed
from runtime.drive.run_log import append_one

if TYPE_CHECKING:
    from replan.runs.driving import Opener

KEY = f"{EDIT}:"
"""The prefix of the key that an edit's message has in the inbox. After the prefix, the key has the number of the edit.
If two edits have the same number, the second has no effect.
"""


class EditRejected(UsageProblem):
    """Raised if the guards reject an edited plan, or if no step of the plan meets a demand of the text any more."""

    def __init__(self, run: str, findings: tuple[Finding, ...]) -> None:
        self.findings = findings
        cause = "; ".join(f"{finding.code}: {finding.message}" for finding in findings)
        super().__init__(f"the edited plan is rejected: {cause}", place=run, hint="the plan of the run is unchanged")

    @property
    def demands(self) -> tuple[Finding, ...]:
        """The findings if all of them are about dropped demands; otherwise empty.

        A person may agree to drop the demands.
        """
        dropped = tuple(item for item in self.findings if item.code == Code.EDIT_DROPS_DEMAND)
        return dropped if len(dropped) == len(self.findings) else ()


class EditedMeanwhile(UsageProblem):
    """Raised if the plan of a run was changed after a person had opened it. The person's edit has no effect."""

    def __init__(self, run: str, what: str, changes: list[str]) -> None:
        self.changes = changes
        hint = f"edit the plan again with `{program()} edit {run}`"
        super().__init__(f"the plan was changed meanwhile: {what}", place=run, hint=hint)


@dataclass(frozen=True)
class OpenPlan(ABC):
    """A plan that a person has opened: the plan of a planning run, or the remaining part of an execution's plan."""

    run: str
    revision: int
    edits: int
    """How many edits were posted before the person opened the plan."""
    value: Mapping[str, Any]

    @property
    @abstractmethod
    def about(self) -> Iterator[str]:
        """The lines that explain the plan to the person, and name what every plan must keep."""

    @property
    def approvals(self) -> tuple[str, ...]:
        """The ids of the steps that wait for a person's approval.

        The person may approve the edited plan and these steps in one message.
        """
        return ()

    @property
    def executes(self) -> bool:
        """Whether the run is an execution."""
        return False

    @property
    def review(self) -> str:
        """The id of the open question about approving the plan; empty if there is none.

        An edit answers this question.
        """
        return ""

    @abstractmethod
    def changes_since(self, revision: int) -> list[str]:
        """Return the changes of the plan since a revision, as lines of a diff."""

    @abstractmethod
    def judge(self, value: Mapping[str, Any], dropped: Collection[str] = ()) -> Mapping[str, Any]:
        """Judge an edited plan, a JSON object. `dropped` has the ids of the demands that the person agrees to drop.

        Return the keys, besides the plan, of the inbox message that posts the edit. Raises `EditRejected`.
        """

    def check_revision(self, revision: int | None) -> None:
        """Raise `EditedMeanwhile` if `revision`, which the person has opened, is not the plan's current revision."""
        if revision != self.revision:
            raise EditedMeanwhile(self.run, f"it is revision {self.revision} now", self.changes_since(revision or 0))

    def _check_demands(self, old: DemandTable | None, new: DemandTable | None, dropped: Collection[str]) -> None:
        """Raise `EditRejected` if a demand was met by a step before the edit, and is met by no step after the edit."""
        if old is None:
            return
        ignored = () if new is None else {row.quote for row in new.in_no_step}
        kept = set() if new is None else {row.quote for row in new.rows if row.quote not in ignored}
        known = kept | {row.quote for row in old.in_no_step}
        lost = [row for row in old.rows if row.quote not in known and row.id not in dropped]
        if lost:
            losses = ((row.id, f"no step meets this demand any more: {printable(row.quote, 200)}") for row in lost)
            code = Code.EDIT_DROPS_DEMAND
            raise EditRejected(self.run, tuple(Finding(code=code, message=text, where=name) for name, text in losses))


@dataclass(frozen=True)
class OpenRest(OpenPlan):
    """The remaining part of an execution's plan."""

    state: State

    @property
    def executes(self) -> bool:
        """True: the run is an execution."""
        return True

    @property
    def about(self) -> Iterator[str]:
        """The lines that tell the person which steps are done, and what every plan must keep."""
        yield f"The remaining plan of run {self.run}, revision {self.revision}. Comments are ignored."
        if done := [step for step, result in self.state.results.items() if result.outcome == "ok"]:
            yield f"Done: {', '.join(done)}."
        for item in self.state.constraints.requirements:
            yield f"Every plan must keep to: {' '.join(item.text.split())[:200]}"

    @property
    def approvals(self) -> tuple[str, ...]:
        """The ids of the steps that wait for a person's approval.

        The person may approve the edited plan and these steps in one message.
        """
        return rest_edits.waiting_approvals(self.state)

    def changes_since(self, revision: int) -> list[str]:
        """Return the changes of the plan since a revision, as lines of a diff."""
        later = (shown for shown in revision_views(self.state) if shown.number > revision)
        return [change for shown in later for change in shown.changes]

    def judge(self, value: Mapping[str, Any], dropped: Collection[str] = ()) -> Mapping[str, Any]:
        """Judge an edited plan with the guard of the execution's plans."""
        state = self.state
        if findings := rest_edits.check_edit(state, value):
            raise EditRejected(self.run, findings)
        plan, before = read_plan(dict(value))[0], read_plan(rest_edits.rest_of_plan(state))[0]
        assert plan is not None, "it was read before"
        proof = prove(plan_guard(state.config), rest_edits.edited_plan(state, json.dumps(dict(value))))
        if proof.errors:
            raise EditRejected(self.run, proof.errors)
        later_texts = (*state.run.texts_of("requirement"), *state.run.texts_of("note"))
        old = None if before is None else demands_of(state.config, before, later_texts)
        self._check_demands(old, demands_of(state.config, plan, later_texts), dropped)
        return {}


@dataclass(frozen=True)
class OpenResult(OpenPlan):
    """The plan of a planning run: its result, its best draft, or a plan that waits for a person's approval."""

    state: PlanningState
    plan: plan_edits.EditablePlan
    guard: AnyGuard

    @property
    def review(self) -> str:
        """The id of the open question about approving the plan; empty if the run has ended."""
        return self.plan.question_id

    @property
    def about(self) -> Iterator[str]:
        """The lines that tell the person what the plan is, what it lacks, and what every plan must keep."""
        verdict = self.plan.node.verdict
        what = "The plan" if self.review or (verdict and verdict.passed) else "The best draft (not proved)"
        yield f"{what} of run {self.run}, revision {self.revision}. Comments are ignored."
        if self.review:
            yield "A person is asked to approve this plan. If you edit it, you also approve it."
        for finding in verdict.errors if verdict else ():
            yield finding_line(finding)
        for item in self.plan.constraints.requirements:
            yield f"Every plan must keep to: {' '.join(item.text.split())[:200]}"

    def changes_since(self, revision: int) -> list[str]:
        """Return the changes of the plan since a revision, as lines of a diff."""
        edits = self.state.edits[max(0, revision - 1) :]
        return plan_diff(json.loads(edits[0].before), json.loads(edits[-1].after)) if edits else []

    def judge(self, value: Mapping[str, Any], dropped: Collection[str] = ()) -> Mapping[str, Any]:
        """Judge an edited plan with the guard of the step that made the plan."""
        state, node = self.state, self.plan.node
        if findings := plan_edits.check_edit(self.plan, value):
            raise EditRejected(self.run, findings)
        try:
            verdict = self._verdict_on(value)
        except PlugInFailed as error:
            raise UsageProblem(str(error), place=self.run, hint="repair the plug-in; the plan is unchanged") from error
        verdict = plan_edits.verdict_of(state, self.plan, value, verdict)
        if not verdict.passed:
            raise EditRejected(self.run, verdict.errors)
        self._check_demands(demands_with(state, node, self.value), demands_with(state, node, value), dropped)
        return {"node": node.node, "verdict": verdict.model_dump(mode="json")}

    def _verdict_on(self, value: Mapping[str, Any]) -> Verdict:
        """Return the guard's verdict on an edited plan.

        The guard runs in a new event loop, because no event loop runs in this thread.
        """
        config, step = self.state.config, self.plan.node.step
        work = judge_in_thread(partial(self.guard, *plan_edits.brief_of(self.state, self.plan, value)))
        return trio.run(verdict_in_time, work, config.steps[step].guard, config.workflow.guard_timeout_seconds)


def may_edit(state: object, *, executes: bool) -> bool:
    """Return whether the plan of a run can be edited now. `executes` says whether plans of executions may be edited."""
    if isinstance(state, PlanningState):
        return not (state.run.child or isinstance(plan_edits.editable_plan(state), str))
    return executes and isinstance(state, State) and not rest_edits.edit_problem(state)


def approves_plan(state: object, name: str) -> bool:
    """Return whether the open question `name` is about approving an editable plan or a step of such a plan."""
    if isinstance(state, PlanningState):
        plan = plan_edits.editable_plan(state)
        return not (state.run.child or isinstance(plan, str)) and plan.question_id == name
    if not isinstance(state, State) or rest_edits.edit_problem(state):
        return False
    asked = state.run.open_questions.get(name)
    return asked is not None and asked.step in rest_edits.waiting_approvals(state)


async def open_plan(poster: "Opener", run: str) -> OpenPlan:
    """Return the plan of a planning run, or the remaining plan of an execution. `run` is its full id.

    Raises `UsageProblem` for a run of another kind, and if the plan of the run cannot be edited now. Also raises the
    errors of `RunReader.read`.
    """
    await check_own(poster, run, "edit RUN")
    loaded = await poster.read(run)
    state = await poster.with_inbox(run, loaded)
    hint = f"`{program()} show {run}` shows the run"
    if isinstance(state, PlanningState):
        if missing := loaded.kind.missing(state, poster.registry):
            names = " and ".join(missing)
            raise UsageProblem(
                f"the guards of this run need the plug-in {names}", place=run, hint="pass it with --plugins FILE.py"
            )
        plan = plan_edits.editable_plan(state)
        if isinstance(plan, str):
            raise UsageProblem(plan, place=run, hint=hint)
        guard = make_step_guard(state.config.workflow, plan.node.step, poster.registry.guards)
        return OpenResult(run, plan_edits.revision_of(state), len(state.edits), plan.value, state, plan, guard)
    if not isinstance(state, State):
        raise UsageProblem("only the plan of a planning run or an execution can be edited", place=run, hint=hint)
    if state.replan is not None and state.replan.edit is not None:
        changes = plan_diff(rest_edits.rest_of_plan(state), json.loads(state.replan.edit.plan))
        raise EditedMeanwhile(run, rest_edits.edit_problem(state), changes)
    if problem := rest_edits.edit_problem(state):
        raise UsageProblem(problem, place=run, hint=hint)
    rest, posted = rest_edits.rest_of_plan(state), await poster.journal.inbox(run)
    return OpenRest(run, state.revision, sum(item.key.startswith(KEY) for item in posted), rest, state)


async def post_edit(
    poster: "Opener",
    opened: OpenPlan,
    value: Mapping[str, Any],
    *,
    via: Via = "",
    person: str = "",
    approves: Collection[str] = (),
    dropped: Collection[str] = (),
) -> None:
    """Judge an edited plan, a JSON object, and post it to its run.

    An execution adopts the plan when no step is running. A planning run that has ended records the plan at once.

    `approves` has the ids of the steps that the person approves in the same message.

    Raises `EditRejected`, and `EditedMeanwhile` if the plan was changed after it was opened. Raises `ForPeopleOnly` if
    only a person may edit the plan.
    """
    if isinstance(opened, OpenResult):
        plan_edits.check_person(opened.state, opened.plan, via)
    judged = await trio.to_thread.run_sync(opened.judge, value, dropped)
    text = make_storable(json.dumps(dict(value)))
    if len(text) > EDIT_BYTES_MAX:
        raise UsageProblem(f"the plan has more than {EDIT_BYTES_MAX:,} bytes", place=opened.run, hint="shorten it")
    (await open_plan(poster, opened.run)).check_revision(opened.revision)
    body = {"kind": EDIT, "plan": text, "revision": opened.revision, "via": via, "person": person, **judged}
    key = f"{KEY}{opened.edits + 1}"
    if opened.review:
        key, body = f"answer:{opened.review}", body | {"answer": review.APPROVE}
    elif not opened.executes:
        machine = (await poster.kind_of(opened.run)).machine
        message = Mailed(0, key, json.dumps(body), poster.clock.now())
        await append_one(machine, poster.journal, opened.run, poster.lease(), message)
        await _check_recorded(poster, opened, text)
        return
    posted = await poster.post_edit(opened.run, key, body | {"approves": sorted(approves)})
    if posted.result == "conflict":
        first = json.loads(posted.body)
        changes = plan_diff(opened.value, json.loads(first["plan"])) if "plan" in first else []
        done = "edited it" if "plan" in first else "answered the question about it"
        raise EditedMeanwhile(opened.run, f"{first.get('person') or 'somebody'} has {done}", changes)


async def _check_recorded(poster: "Opener", opened: OpenPlan, text: str) -> None:
    state = (await poster.read(opened.run)).state
    edits = state.edits[opened.revision - 1 :]
    if not edits or edits[0].after != text:
        changes = plan_diff(opened.value, json.loads(edits[-1].after)) if edits else []
        raise EditedMeanwhile(opened.run, f"it is revision {len(state.edits) + 1} now", changes)
