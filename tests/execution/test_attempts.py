"""What the results of its requests do to an attempt, for each phase and each outcome."""

import pytest

from actors.execution.attempts import (
    apply_tool_end,
    fail_phase,
    next_attempt,
    open_phase,
    pass_phase,
    person_use,
    phases_of,
    tool_use,
)
from actors.execution.faults import broken_assumption, broken_invariant, dead_end, incomplete_file, unknown_outcome
from actors.execution.state import Attempt
from actors.execution.state import AttemptPhase as Phase
from actors.run.tools import ToolFinished, ToolOutcome
from tests.execution.stage import Stage, person, plan, step, tool, toolset, writer

ALL = (Phase.PRE_CHECK, Phase.ACT, Phase.SNAPSHOT, Phase.CHECK_PRE, Phase.CHECK, Phase.COMPARE)


def attempt(*todo, **fields):
    values = {"step": "a", "name": "a", "revision": 1, "visit": 1, "number": 1, "todo": todo or ALL}
    return Attempt(**(values | fields))


def finished(outcome, output="", reason="", question_id=None):
    return ToolFinished(
        request_id="x", at=1.0, mono=None, elapsed=1.0, outcome=outcome, output=output, reason=reason,
        question_id=question_id,
    )  # fmt: skip


def not_made(outcome):
    return finished(outcome, "", "busy").model_copy(update={"not_made": True})


def staged(act, check, **fields):
    value = plan(step("a", "start", "goal"))
    state = Stage(value, toolset({"do_a": act}, {"syntax": check}), **fields).state
    return state.config, state.plan


@pytest.mark.parametrize(
    ("act", "check", "fields", "phases"),
    [
        (tool("t"), tool("c"), {}, "act check"),
        (tool("t", pre_check=tool("p")), tool("c", pre_check=tool("q")), {}, "pre act check_pre check"),
        (writer(), tool("c"), {}, "read act write check"),
        (writer(pre_check=tool("p")), person(), {}, "pre read act write check"),
        (person(), person(), {}, "act check"),
        (tool("t"), tool("c"), {"snapshots": True}, "act snapshot check compare"),
        (tool("t"), person(), {"snapshots": True}, "act snapshot check"),
        (tool("t"), tool("c"), {"approval": "each"}, "approve act check"),
        (tool("t", risky=True), tool("c"), {"approval": "risky"}, "approve act check"),
    ],
)
def test_the_phases_of_an_attempt_are_those_of_what_does_and_checks_the_step(act, check, fields, phases):
    config, ready = staged(act, check, **fields)
    assert [str(phase) for phase in phases_of(config, ready, "a")] == phases.split()


@pytest.mark.parametrize(
    ("phase", "name"),
    [
        (Phase.PRE_CHECK, "p"),
        (Phase.ACT, "t"),
        (Phase.CHECK_PRE, "q"),
        (Phase.CHECK, "c"),
        (Phase.APPROVE, None),
        (Phase.READ, None),
        (Phase.WRITE, None),
    ],
)
def test_each_phase_calls_its_own_tool(phase, name):
    config, ready = staged(tool("t", pre_check=tool("p")), tool("c", pre_check=tool("q")))
    use = tool_use(config, ready, attempt(phase))
    assert (use and use.tool) == name
    assert person_use(config, ready, attempt(phase)) is None


def test_a_person_does_and_checks_and_calls_no_tool():
    config, ready = staged(person("doer"), person("checker"))
    for phase, name in ((Phase.ACT, "doer"), (Phase.CHECK, "checker")):
        assert person_use(config, ready, attempt(phase)).name == name
        assert tool_use(config, ready, attempt(phase)) is None
    for phase in (Phase.PRE_CHECK, Phase.CHECK_PRE):
        assert person_use(config, ready, attempt(phase)) is None
        assert tool_use(config, ready, attempt(phase)) is None


DO = tool("t")
ONCE = tool("t", repeatable=False)
TO_FAIL = tool("t").model_copy(update={"expect": "failure"})
Ends = ToolOutcome


@pytest.mark.parametrize(
    ("phase", "use", "event", "result", "text"),
    [
        (Phase.ACT, DO, finished(Ends.SUCCEEDED), "", None),
        (Phase.COMPARE, DO, finished(Ends.SUCCEEDED), "passed", None),
        (Phase.ACT, DO, finished(Ends.FAILED, "out", "exit code 1"), "step.failed", "'t' failed: exit code 1\nout"),
        (Phase.ACT, DO, finished(Ends.FAILED), "step.failed", "'t' failed"),
        (Phase.CHECK, DO, finished(Ends.FAILED), "step.check_failed", "the check 't' failed"),
        (Phase.PRE_CHECK, DO, finished(Ends.FAILED), "step.pre_check_failed", "the pre-check 't' failed"),
        (Phase.CHECK_PRE, DO, finished(Ends.FAILED), "step.pre_check_failed", "the check's pre-check 't' failed"),
        (Phase.CHECK, TO_FAIL, finished(Ends.FAILED), "", None),
        (
            Phase.CHECK,
            TO_FAIL,
            finished(Ends.SUCCEEDED, " out "),
            "step.check_failed",
            "passed, but should have failed\nout",
        ),
        (Phase.ACT, DO, finished(Ends.PERMANENT, "", "gone"), "tool.permanent", "'t' cannot be called: gone"),
        (Phase.ACT, ONCE, finished(Ends.PERMANENT, "", "gone"), "tool.permanent", "'t' cannot be called: gone"),
        (Phase.ACT, DO, finished(Ends.TRANSIENT, "", "busy"), "tool.transient", "did not finish: busy"),
        (Phase.ACT, DO, finished(Ends.BROKEN, "out", "died"), "tool.broken", "'t' broke off: died\nout"),
        (Phase.ACT, ONCE, finished(Ends.TRANSIENT, "", "busy"), "unsure", None),
        (Phase.ACT, ONCE, finished(Ends.BROKEN, "", "died"), "unsure", None),
        (Phase.ACT, ONCE, not_made(Ends.TRANSIENT), "tool.transient", "did not finish: busy"),
        (Phase.ACT, ONCE, not_made(Ends.BROKEN), "tool.broken", "'t' broke off: busy"),
        (Phase.CHECK, TO_FAIL, finished(Ends.BROKEN, "", "died"), "tool.broken", "'t' broke off: died"),
        (Phase.CHECK, TO_FAIL, not_made(Ends.TRANSIENT), "tool.transient", "did not finish: busy"),
        (Phase.ACT, ONCE, finished(Ends.UNKNOWN, "", "cut"), "unsure", None),
        (Phase.ACT, DO, finished(Ends.UNKNOWN, "", "cut"), "", None),
        (
            Phase.ACT,
            ONCE,
            finished(Ends.UNKNOWN, "", "cut", "q1"),
            "step.unknown_outcome",
            "may have done its work: cut",
        ),
    ],
)
def test_the_outcome_of_a_tool_passes_fails_or_leaves_open(phase, use, event, result, text):
    begin = attempt(*ALL[ALL.index(phase) :], open=True)
    after = apply_tool_end(begin, use, event)
    assert not after.open
    if text is not None:
        [finding] = after.findings
        assert (finding.code, finding.where) == (result, "a")
        assert finding.message.endswith(text)
        assert after.result == ("unknown" if result == "step.unknown_outcome" else "failed")
    elif result == "unsure":
        assert (after.unsure, after.result, after.todo) == (True, "", begin.todo)
    else:
        assert (after.unsure, after.result) == (False, result)
        assert after.todo == (begin.todo if event.outcome is Ends.UNKNOWN else begin.todo[1:])


def test_what_was_read_is_kept_for_the_model():
    for phase, read in ((Phase.READ, "text"), (Phase.ACT, "")):
        assert apply_tool_end(attempt(phase, Phase.CHECK), DO, finished(Ends.SUCCEEDED, "text")).read == read


def test_an_attempt_after_one_whose_check_could_not_run_begins_with_the_check():
    broken = apply_tool_end(attempt(Phase.CHECK, acted=True), DO, finished(Ends.BROKEN, "", "died"))
    again = next_attempt(broken, ALL, 2.5)
    assert (again.todo, again.number, again.acted) == ((Phase.CHECK_PRE, Phase.CHECK, Phase.COMPARE), 2, True)
    assert (again.backoff_seconds, again.begun, again.open, again.result) == (2.5, False, False, "")
    wrong = apply_tool_end(attempt(Phase.CHECK, acted=True), DO, finished(Ends.FAILED))
    assert (next_attempt(wrong, ALL, 0.0).todo, next_attempt(wrong, ALL, 0.0).acted) == (ALL, False)
    early = apply_tool_end(attempt(Phase.ACT), DO, finished(Ends.BROKEN, "", "died"))
    assert next_attempt(early, ALL, 0.0).todo == ALL


def test_the_phases_of_an_attempt_pass_one_after_another():
    first = attempt(Phase.ACT, Phase.CHECK, open=True, tries=3)
    second = pass_phase(first)
    assert (second.phase, second.open, second.tries, second.result) == (Phase.CHECK, False, 0, "")
    assert (pass_phase(second).phase, pass_phase(second).result) == (None, "passed")
    assert (fail_phase(first).result, fail_phase(first).open, fail_phase(first).phase) == ("failed", False, Phase.ACT)
    assert (open_phase(attempt()).begun, open_phase(attempt()).open, open_phase(attempt()).tries) == (True, True, 0)


def test_findings_of_the_plan_name_their_place():
    assert (broken_assumption("a").code, broken_assumption("a").where) == ("plan.assumption_broken", "a")
    assert broken_invariant([0, 2]).message.endswith("break the plan's invariants[0], invariants[2]")
    many = dead_end(f"t{number:02}" for number in reversed(range(12)))
    missing = ", ".join(f"t{n:02}" for n in range(10))
    assert many.message == f"no step can begin, and these tokens of the goal are missing: {missing}"
    assert len(many.tokens) == 12
    assert unknown_outcome(attempt(), "", "cut").message == "the tool may have done its work: cut"
    assert (incomplete_file(attempt(), "content_filter").code, incomplete_file(attempt(), "length").code) == (
        "reply.filtered",
        "reply.cut",
    )
