"""Edits of an execution's plan by a person: reads what is left of the plan, judges the edited plan, and posts it."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import trio

from actors.execution.edits import (
    EDIT,
    EDIT_BYTES_MAX,
    check_edit,
    edit_problem,
    edited_plan,
    rest_of_plan,
    waiting_approvals,
)
from actors.execution.replan_rules import plan_guard, prove
from actors.execution.result import demands_of, revision_views
from actors.execution.state import State
from actors.plans.plan import Plan
from actors.plans.plan_yaml import plan_diff
from actors.plans.reader import read_plan
from actors.run.questions import Via
from actors.values.findings import Code, Finding
from actors.values.format import printable
from replan.runs.families import check_own
from replan.setup.installation import program
from runtime.core.errors import UsageProblem
from runtime.core.events import make_storable

if TYPE_CHECKING:
    from replan.runs.inbox import RunPoster

KEY = f"{EDIT}:"
"""The prefix of the keys of edits in the inbox. The number of the edit follows, so only one edit can be the next."""


class EditRejected(UsageProblem):
    """An edited plan may not become the plan of its run."""

    def __init__(self, run: str, findings: tuple[Finding, ...]) -> None:
        self.findings = findings
        cause = "; ".join(f"{finding.code}: {finding.message}" for finding in findings)
        super().__init__(f"the edited plan is rejected: {cause}", place=run, hint="the plan of the run stays as it is")

    @property
    def demands(self) -> tuple[Finding, ...]:
        """The demands that the edit drops, if nothing else is wrong with it. A person may agree to drop them."""
        dropped = tuple(item for item in self.findings if item.code == Code.EDIT_DROPS_DEMAND)
        return dropped if len(dropped) == len(self.findings) else ()


class EditedMeanwhile(UsageProblem):
    """The plan of a run was changed after a person had opened it. The edit of that person changes nothing."""

    def __init__(self, run: str, what: str, changes: list[str]) -> None:
        self.changes = changes
        """The changes, as lines of a difference."""
        hint = f"edit it again with `{program()} edit {run}`"
        super().__init__(f"the plan was changed meanwhile: {what}", place=run, hint=hint)


@dataclass(frozen=True)
class OpenPlan:
    """The rest of a run's plan at the time when a person opened it."""

    run: str
    revision: int
    """The number of the plan's revision."""
    edits: int
    """How many edits were posted before."""
    value: Mapping[str, Any]
    """The plan as JSON."""
    state: State
    """The state of the run when it was opened."""

    @property
    def approvals(self) -> tuple[str, ...]:
        """The steps that wait for a person's approval, which an edit may give in the same act."""
        return waiting_approvals(self.state)

    def check_revision(self, revision: int | None) -> None:
        """Check that a person has opened the plan in this revision. Raises `EditedMeanwhile`."""
        if revision != self.revision:
            later = (shown for shown in revision_views(self.state) if revision is None or shown.number > revision)
            changes = [change for shown in later for change in shown.changes]
            raise EditedMeanwhile(self.run, f"it is revision {self.revision} now", changes)

    def judge(self, value: Mapping[str, Any], dropped: Collection[str] = ()) -> None:
        """Judge an edited plan, given as JSON. `dropped` are the ids of demands that the person agrees to drop.

        Raises `EditRejected`.
        """
        state = self.state
        if findings := check_edit(state, value):
            raise EditRejected(self.run, findings)
        plan = read_plan(dict(value))[0]
        assert plan is not None, "it was read before"
        proof = prove(plan_guard(state.config), edited_plan(state, json.dumps(dict(value))))
        findings = proof.errors or tuple(item for item in _dropped_demands(state, plan) if item.where not in dropped)
        if findings:
            raise EditRejected(self.run, findings)


def _dropped_demands(state: State, plan: Plan) -> tuple[Finding, ...]:
    """Return a finding for each demand that a step had before the edit and no step has after it."""
    before = read_plan(rest_of_plan(state))[0]
    later_texts = (*state.run.texts_of("requirement"), *state.run.texts_of("note"))
    old = None if before is None else demands_of(state.config, before, later_texts)
    if old is None:
        return ()
    new = demands_of(state.config, plan, later_texts)
    ignored = () if new is None else {row.quote for row in new.in_no_step}
    kept = set() if new is None else {row.quote for row in new.rows if row.quote not in ignored}
    was_ignored = {row.quote for row in old.in_no_step}
    return tuple(
        Finding(
            code=Code.EDIT_DROPS_DEMAND,
            message=f"no step meets this demand any more: {printable(row.quote, 200)}",
            where=row.id,
        )
        for row in old.rows
        if row.quote not in was_ignored and row.quote not in kept
    )


def may_edit(state: object) -> bool:
    """Return whether the plan of a run can be edited now."""
    return isinstance(state, State) and not edit_problem(state)


async def open_plan(poster: "RunPoster", run: str) -> OpenPlan:
    """Return the rest of an execution's plan. `run` is its full id.

    Raises `UsageProblem` if the run is not an execution or its plan cannot be edited now, and the errors of
    `RunReader.read`.
    """
    await check_own(poster, run, "edit RUN")
    loaded = await poster.read(run)
    state = await poster.with_inbox(run, loaded)
    if not isinstance(state, State):
        hint = f"write its plan with `{program()} export {run} --format json`, edit that, and execute the file"
        raise UsageProblem("only the plan of an execution is edited in its run", place=run, hint=hint)
    if state.replan is not None and state.replan.edit is not None:
        changes = plan_diff(rest_of_plan(state), json.loads(state.replan.edit.plan))
        raise EditedMeanwhile(run, edit_problem(state), changes)
    if problem := edit_problem(state):
        raise UsageProblem(problem, place=run, hint=f"`{program()} show {run}` shows it")
    return OpenPlan(run, state.revision, await _count_edits(poster, run), rest_of_plan(state), state)


async def post_edit(
    poster: "RunPoster",
    opened: OpenPlan,
    value: Mapping[str, Any],
    *,
    via: Via = "",
    person: str = "",
    approves: bool = False,
    dropped: Collection[str] = (),
) -> None:
    """Judge an edited plan, given as JSON, and post it to its run. The run adopts it once no step is at work.

    With `approves`, the steps that wait for an approval are approved. Raises `EditRejected`, and `EditedMeanwhile` if
    the plan was changed after it was opened.
    """
    await trio.to_thread.run_sync(opened.judge, value, dropped)
    text = make_storable(json.dumps(dict(value), sort_keys=True))
    if len(text) > EDIT_BYTES_MAX:
        raise UsageProblem(f"the plan has more than {EDIT_BYTES_MAX:,} bytes", place=opened.run, hint="shorten it")
    current = (await poster.read(opened.run)).state
    if isinstance(current, State) and current.revision != opened.revision:
        changes = plan_diff(opened.value, current.plan.json)
        raise EditedMeanwhile(opened.run, f"it is revision {current.revision} now", changes)
    body = {"kind": EDIT, "plan": text, "revision": opened.revision, "via": via, "person": person}
    posted = await poster.post_edit(opened.run, f"{KEY}{opened.edits + 1}", body | {"approves": approves})
    if posted.result == "conflict":
        first = json.loads(posted.body)
        changes = plan_diff(opened.value, json.loads(first["plan"]))
        raise EditedMeanwhile(opened.run, f"{first.get('person') or 'somebody'} has edited it", changes)


async def _count_edits(poster: "RunPoster", run: str) -> int:
    return sum(item.key.startswith(KEY) for item in await poster.journal.inbox(run))
