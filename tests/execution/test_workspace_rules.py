"""What a snapshot of the workspace changes in the state: what is compared, what is damaged, and what is not known."""

import pytest

from actors.execution.state import Attempt, AttemptPhase
from actors.execution.workspace_rules import (
    apply_first_snapshot,
    apply_last_snapshot,
    apply_step_snapshot,
    request_first_snapshot,
    request_last_snapshot,
)
from actors.run.tools import ToolFinished, ToolOutcome
from actors.tools.snapshot_texts import WorkspaceSnapshot
from runtime.core.copies import changed
from tests.execution.stage import Stage, plan, step

KEPT = {"kind": "must_keep", "text": "keep it", "quote": "keep it", "paths": ["LICENSE"]}
UNKNOWN, FAILED = ToolOutcome.UNKNOWN, ToolOutcome.FAILED


def state(*requirements, **fields):
    made = Stage(plan(step("a", "start", "goal"), requirements=list(requirements)), snapshots=False).state
    return changed(made, **fields) if fields else made


def ended(outcome=ToolOutcome.SUCCEEDED, **snapshot):
    output = WorkspaceSnapshot(**{"id": "s1", **snapshot}).model_dump_json() if outcome is ToolOutcome.SUCCEEDED else ""
    return ToolFinished(request_id="x", at=1.0, mono=None, outcome=outcome, output=output, reason="gone")


def test_a_snapshot_that_the_end_of_the_run_has_stopped_changes_nothing():
    before, attempt = state(KEPT), Attempt("a", "a", 1, 1, 1, (AttemptPhase.SNAPSHOT,), open=True)
    assert apply_first_snapshot(before, ended(UNKNOWN)) is before
    assert apply_last_snapshot(before, ended(UNKNOWN)) is before
    after, stopped = apply_step_snapshot(before, attempt, ended(UNKNOWN))
    assert after is before
    assert (stopped.open, stopped.todo) == (False, (AttemptPhase.SNAPSHOT,))


def test_the_first_snapshot_is_what_later_ones_are_compared_with():
    after = apply_first_snapshot(state(), ended())
    assert (after.snapshot, after.first_snapshot, after.not_compared) == ("s1", "s1", 0)
    failed = apply_first_snapshot(state(), ended(FAILED))
    assert (failed.snapshot, failed.first_snapshot, failed.not_compared) == ("", "", 1)


@pytest.mark.parametrize(
    ("event", "not_compared", "damaged"),
    [
        (ended(changed=()), 0, ()),
        (ended(changed=("a.py",)), 0, ()),
        (ended(changed=("LICENSE", "a.py")), 0, ("LICENSE",)),
        (ended(changed=("a.py",), more=3), 1, ()),
        (ended(changed=None), 1, ()),
        (ended(FAILED), 1, ()),
    ],
)
def test_the_last_snapshot_tells_what_protected_paths_have_changed_or_that_it_cannot(event, not_compared, damaged):
    after = apply_last_snapshot(state(KEPT), event)
    assert after.not_compared == not_compared
    assert tuple(after.damaged) == damaged


@pytest.mark.parametrize(
    ("phase", "event", "violations", "result", "not_compared"),
    [
        (AttemptPhase.SNAPSHOT, ended(changed=("a.py",)), 0, "passed", 0),
        (AttemptPhase.SNAPSHOT, ended(changed=("LICENSE",)), 1, "failed", 0),
        (AttemptPhase.SNAPSHOT, ended(changed=None), 0, "passed", 1),
        (AttemptPhase.SNAPSHOT, ended(FAILED), 0, "passed", 1),
        (AttemptPhase.COMPARE, ended(changed=()), 0, "passed", 0),
        (AttemptPhase.COMPARE, ended(changed=("a.py",)), 1, "passed", 0),
        (AttemptPhase.COMPARE, ended(changed=("LICENSE",)), 2, "failed", 0),
    ],
)
def test_a_step_that_touches_a_protected_path_fails_and_its_other_attempts_are_skipped(
    phase, event, violations, result, not_compared
):
    attempt = Attempt("a", "a", 1, 1, 1, (phase,), open=True)
    begun = state(KEPT)
    after, attempt = apply_step_snapshot(changed(begun, active={"a": attempt}), attempt, event)
    assert len(after.violations) == violations
    assert (attempt.result, attempt.skipped, attempt.open) == (result, result == "failed", False)
    assert after.not_compared == not_compared
    assert after.snapshot == ("s1" if event.outcome is ToolOutcome.SUCCEEDED else begun.snapshot)


def test_snapshots_are_taken_where_they_are_wished_and_compared_where_something_is_protected():
    assert request_first_snapshot(state()) is None
    assert request_last_snapshot(state(KEPT)) is None
    assert request_last_snapshot(state(first_snapshot="s1")) is None
    assert request_last_snapshot(state(KEPT, first_snapshot="s1", damaged=())) is None
    request = request_last_snapshot(state(KEPT, first_snapshot="s1"))
    assert '"since":"s1"' in request.arguments.replace(" ", "")
