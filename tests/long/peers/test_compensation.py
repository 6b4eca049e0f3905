"""What a plan takes back after a failure is taken back once, whatever fails next and whoever is killed."""

import signal

import pytest

from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED
from replan.cli.exits import Exit
from tests.long.peers.execution_case import ExecutionCase, plan, step
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


TRANSFER = plan(
    [
        step("credit", ["start"], ["credited"], undo="uncredit"),
        step(
            "withdraw",
            ["credited"],
            ["done"],
            dependencies=["credit"],
            retry_budget=2,
            undo="deposit",
            on_failure="undo",
        ),
    ],
    ["done"],
)
"""Where the withdrawal is refused twice, everything is undone."""
TRANSFER_TOOLS = {"credit": {}, "withdraw": {}, "uncredit": {}, "deposit": {}}
ONCE = """
mkdir "$1.$2.tried" 2>/dev/null || exec /bin/sh "$4" "$1" "$2" "$3"
echo "begin $2" >> "$1"
exit 1
"""
"""Its arguments: those of a tool, and the script that carries it out; the first call fails."""


def test_an_error_that_a_further_attempt_mends_undoes_nothing(open_case):
    """langchain4j/langchain4j#5823: a tool error that the agent recovers from took back what earlier agents had done.

    The run then ended with a success, and nothing was there. Here only the failure of the last attempt undoes.
    """
    case = open_case(lambda *_: None)
    script = case.folder / "once.sh"
    script.write_text(ONCE)
    words = ["/bin/sh", str(script), str(case.folder / "log"), "withdraw", "0", str(case.folder / "work.sh")]
    work = ExecutionCase(case, TRANSFER, {**TRANSFER_TOOLS, "withdraw": {"command": words}})
    code, result = work.begin()
    assert (code, result["outcome"]) == (Exit.OK, "success"), case.error()
    assert [line.split()[1] for line in work.log() if line.startswith("begin")] == ["credit", "withdraw", "withdraw"]


@pytest.mark.parametrize("nth", [None, *range(7, 10)])
def test_what_was_undone_is_not_undone_again_by_a_kill_or_by_asking_again(nth, open_case):
    """langchain4j/langchain4j#5171: compensations were kept once made, and made again after the next failure.

    The driver is killed at each call from the withdrawal on; then everything is to be undone once more.
    """
    case = open_case(lambda *_: None)
    work = ExecutionCase(case, TRANSFER, TRANSFER_TOOLS)
    (case.folder / "log.withdraw.fails").touch()
    code, result = work.begin(**({} if nth is None else {"kill": {"label": "tool.after", "nth": nth}}))
    for _ in range(ROUNDS_MAX):
        if code == Exit.UNDONE:
            break
        if code == Exit.WAITING:
            name = next(
                name for name in sorted(TRANSFER_TOOLS, key=len, reverse=True) if name in result["question"]["text"]
            )
            last = [line.split()[0] for line in work.log() if line.endswith(f" {name}")]
            work.answer(result, TRUTH[last[-1]] if last else NOT_RUN)
        code, result = work.resume()
    assert (code, (result or {}).get("outcome")) == (Exit.UNDONE, "undone"), (result, case.error())
    assert case.replan("undo", "--last", "--no-input")[0] == Exit.USAGE
    assert work.log().count("begin uncredit") == 1
    assert "begin deposit" not in work.log()
