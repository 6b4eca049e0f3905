"""What a plan takes back after a failure is taken back once, whatever fails next and whoever is killed."""

import signal

import pytest

from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED
from replan.cli.exits import Exit
from tests.peers.execution_case import ExecutionCase, plan, step
from tests.support.answers import Answer

PLAN = plan(
    [
        step("credit", ["start"], ["credited"]),
        step(
            "withdraw",
            ["credited"],
            ["done"],
            dependencies=["credit"],
            on_failure="continue",
            failure_effects=["refused"],
        ),
        step(
            "uncredit",
            ["credited", "refused"],
            ["taken_back"],
            dependencies=["withdraw"],
            delete_effects=["credited", "refused"],
        ),
        step("other_bank", ["taken_back"], ["done"], dependencies=["uncredit"], failure_delete_effects=["taken_back"]),
    ],
    ["done"],
)
"""Where the withdrawal is refused, the credit is taken back, and another bank is tried; then a replan follows."""
TOOLS = {"credit": {}, "withdraw": {}, "uncredit": {}, "other_bank": {}}
ROUNDS_MAX = 12
TRUTH = {"begin": FAILED, "end": SUCCEEDED}


def replanned(works):
    """Return a handler that plans the same steps anew; under the second new plan the withdrawal succeeds."""

    def handle(*_):
        [work] = works
        if work.log().count("begin withdraw") == 2:
            (work.case.folder / "log.withdraw.fails").unlink(missing_ok=True)
        return Answer.value({**PLAN, "plan_id": f"plan-{len(work.log())}"})

    return handle


def in_order(log):
    """Check that nothing is taken back that was not given, and return how often each tool began."""
    given = 0
    for line in log:
        given += (line == "begin credit") - (line == "begin uncredit")
        assert given in (0, 1), log
    return {name: log.count(f"begin {name}") for name in TOOLS}


@pytest.mark.parametrize("nth", [None, *range(6, 12)])
def test_a_finished_step_is_compensated_once_for_each_time_that_it_was_done(nth, open_case):
    """langchain4j/langchain4j#5171: compensations were kept once made, and made again after the next failure.

    The withdrawal fails under two plans and succeeds under the third; the driver is killed at each call of a tool.
    """
    works = []
    case = open_case(replanned(works))
    works.append(work := ExecutionCase(case, PLAN, TOOLS))
    for name in ("withdraw", "other_bank"):
        (case.folder / f"log.{name}.fails").touch()
    code, result = work.begin(**({} if nth is None else {"kill": {"label": "tool.after", "nth": nth}}))
    assert (code == -signal.SIGKILL) is (nth is not None), case.error()
    for _ in range(ROUNDS_MAX):
        if code == Exit.OK:
            break
        if code == Exit.WAITING:
            name = next(name for name in sorted(TOOLS, key=len, reverse=True) if name in result["question"]["text"])
            last = [line.split()[0] for line in work.log() if line.endswith(f" {name}")]
            work.answer(result, TRUTH[last[-1]] if last else NOT_RUN)
        code, result = work.resume()
    assert (code, (result or {}).get("outcome")) == (Exit.OK, "success"), (result, case.error())
    assert in_order(work.log()) == {"credit": 3, "withdraw": 3, "uncredit": 2, "other_bank": 2}
