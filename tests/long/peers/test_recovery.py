"""What is repeated after a crash, and what is not: real processes, killed with `kill -9`."""

import json
import signal
import time

import pytest

from actors.run.questions import NOT_RUN, SUCCEEDED
from replan.cli.exits import Exit
from tests.long.crash.test_children import wait_for
from tests.long.peers.execution_case import ExecutionCase, plan, step
from tests.support.answers import Answer, by_step
from tests.support.artifacts import ANALYSIS, GOOD
from tests.support.artifacts import plan as planned

CHAIN = plan(
    [
        step("reserve", ["start"], ["reserved"]),
        step("charge", ["reserved"], ["charged"], dependencies=["reserve"]),
        step("notify", ["charged"], ["done"], dependencies=["charge"]),
    ],
    ["done"],
)
CHAIN_TOOLS = {"reserve": {}, "charge": {}, "notify": {}}
DONE = ["begin reserve", "end reserve", "begin charge", "end charge", "begin notify", "end notify"]
AFTER_CHARGE = 7
"""The number of the tool call of `charge`. Before it come a look at the workspace and a snapshot of it.

Of `reserve` come the act, the snapshot, the check and the comparison.
"""
PAIR = plan([step("left", ["start"], ["l"]), step("right", ["start"], ["r"])], ["l", "r"])


def no_model(*_):
    return Answer.fault(404, "no model is needed")


def recovered(case, cores):
    """Kill the driver after a tool's effect and before its record, and resume; return all that is seen of that."""
    work = ExecutionCase(case, CHAIN, CHAIN_TOOLS)
    code, _ = work.begin(kill={"label": "tool.after", "nth": AFTER_CHARGE}, cores=cores)
    assert code == -signal.SIGKILL
    assert work.log() == DONE[:4]
    code, result = work.resume(cores=cores)
    asked = result["question"]["text"]
    assert (code, work.log()) == (Exit.WAITING, DONE[:4])
    work.answer(result, SUCCEEDED)
    code, result = work.resume(cores=cores)
    return asked, code, result["outcome"], work.log()


def test_recovery_after_a_kill_does_not_depend_on_the_number_of_processors(open_case):
    """langchain-ai/langgraph#8039: whether finished work is repeated after a kill depends on the host that ran it.

    With one processor and with all, three times each: the effect whose record is lost is asked about, and not repeated.
    """
    seen = []
    for attempt in range(6):
        case = open_case(no_model, f"case{attempt}")
        seen.append(recovered(case, 1 if attempt % 2 else 1_000))
    asked, *rest = seen[0]
    assert "charge" in asked
    assert rest == [Exit.OK, "success", DONE]
    assert all(each == seen[0] for each in seen)


def test_a_tool_that_takes_many_leases_runs_once_beside_a_host_and_a_resume(open_case):
    """langchain-ai/langgraph#7417: a tool of more than 180 s was silently run again from the checkpoint.

    The tool takes five times as long as the lease, while a host and other resumes look for work in the same home.
    """
    ttl = 1.5
    case = open_case(no_model)
    work = ExecutionCase(case, CHAIN, CHAIN_TOOLS | {"charge": {"seconds": 5 * ttl}})
    driver = case.start(work.argv(), "run.", ttl=ttl)
    until = time.monotonic() + 20
    while "begin charge" not in work.log():
        assert time.monotonic() < until
        time.sleep(0.01)
    host = case.start(("host", "--json"), "host.", ttl=ttl)
    wait_for(case.folder / "host.out", "ready")
    codes = []
    while "end charge" not in work.log():
        codes.append(work.resume(ttl=ttl)[0])
    assert driver.rest() == Exit.OK
    host.send_signal(signal.SIGTERM)
    assert host.rest() == Exit.OK
    assert codes
    assert set(codes[:-1]) <= {Exit.NOT_FOUND}
    assert work.log() == DONE


def test_a_call_that_never_ran_beside_one_that_is_recorded_runs_after_a_kill(open_case):
    """google/adk-python#7108: of two parallel calls one had an answer, and the other was never run after the resume.

    The second call is about to begin when the driver is killed; the first is recorded, with its check.
    """
    case = open_case(no_model)
    tools = {"left": {}, "right": {"pre_check": "slow"}, "slow": {"seconds": 2.5, "repeatable": True}}
    work = ExecutionCase(case, PAIR, tools)
    code, _ = work.begin(kill={"label": "tool.prepared", "nth": 5})
    assert (code, [line for line in work.log() if "slow" not in line]) == (-signal.SIGKILL, ["begin left", "end left"])
    code, result = work.resume()
    assert (code, result["outcome"]) == (Exit.OK, "success"), case.error()
    assert sorted(line for line in work.log() if "slow" not in line) == sorted(
        f"{part} {name}" for part in ("begin", "end") for name in ("left", "right")
    )


@pytest.mark.parametrize("killed", [False, True])
def test_a_call_that_waits_for_approval_beside_one_that_is_done_runs_once(killed, open_case):
    """google/adk-python#7108: the same where the second call waits for a person, with a kill after the answer."""
    case = open_case(no_model)
    work = ExecutionCase(case, PAIR, {"left": {"risk": "none"}, "right": {"risk": "risky"}})
    code, result = work.begin("--approve", "risky")
    assert (code, work.log()) == (Exit.WAITING, ["begin left", "end left"]), case.error()
    work.answer(result, "yes")
    if killed:
        assert work.resume(kill={"label": "tool.prepared", "nth": 1})[0] == -signal.SIGKILL
    code, result = work.resume()
    while code == Exit.WAITING:
        assert killed
        work.answer(result, NOT_RUN)
        code, result = work.resume()
    assert (code, result["outcome"]) == (Exit.OK, "success")
    assert work.log() == ["begin left", "end left", "begin right", "end right"]


def test_an_earlier_run_and_an_earlier_round_take_no_part_in_a_resume(open_case):
    """google/adk-python#6497: a resumed invocation replayed the events of an earlier one in the session, and failed.

    One home has a finished run of the same problem. The second run ends without a plan, is reopened by a requirement,
    asks, is killed, and is resumed: only its open step is asked for again.
    """
    asking = {**ANALYSIS, "open_questions": ["Which version is it?"]}
    broken = planned(needs_missing_token="licence_granted")
    script = {step: [GOOD[step]] * 40 for step in GOOD}
    script["g_analysis"] = [ANALYSIS, ANALYSIS, asking, ANALYSIS]
    script["g_plan"] = [planned(), *[broken] * 2, *[planned()] * 9]
    case = open_case(by_step(script))
    (case.folder / "flow.yaml").write_text(FLOW)
    flow = ("-w", str(case.folder / "flow.yaml"), "--no-input")
    code, first = case.begin(20, *flow)
    assert (code, first["outcome"]) == (Exit.OK, "success")
    code, second = case.begin(20, *flow)
    assert (code, second["status"]) == (Exit.UNSOLVED, "finished")
    before = {run: [record.event for record in records] for run, (_, records) in case.runs().items()}
    assert case.replan("tell", second["run_id"], "--as", "requirement", "It must run offline.")[0] == Exit.OK
    code, asked = case.replan("resume", second["run_id"], "--no-input", "--json")
    assert code == Exit.WAITING, case.error()
    assert case.replan("answer", asked["question"]["id"], "3.12")[0] == Exit.OK
    code, _ = case.replan("resume", second["run_id"], "--json", kill={"label": "send.before", "nth": 1})
    assert code == -signal.SIGKILL
    sent = len(case.requested())
    code, result = case.replan("resume", second["run_id"], "--json")
    assert (code, result["outcome"], result["plan"]) == (Exit.OK, "success", planned())
    assert {request.partition("/")[0] for request in case.requested()[sent:]} == {second["run_id"]}
    after = {run: [record.event for record in records] for run, (_, records) in case.runs().items()}
    assert after[first["run_id"]] == before[first["run_id"]]
    assert after[second["run_id"]][: len(before[second["run_id"]])] == before[second["run_id"]]
    case.check_billing()


FLOW = """
name: flow
rmax: 2
action_pairs:
  g_analysis: {generator: model, guard: analysis_valid, role: analysis}
  g_plan: {generator: model, guard: plan_medium, role: plan, requires: [g_analysis]}
"""
REVIEWED = """
name: reviewed
action_pairs:
  g_plan: {generator: model, guard: {all_of: [plan_medium, human_review]}, role: plan, rmax: 4}
"""


def test_a_third_review_is_asked_for_and_answered_like_the_first(open_case):
    """google/adk-python#7027: in a loop of reviews the third one deadlocked on replay.

    Four reviews, of which three reject; each answer and each resume is a process of its own, and one is killed.
    """
    plans = [planned(plan_id=f"plan-{number}") for number in range(4)]
    case = open_case(by_step({"g_plan": plans}))
    (case.folder / "reviewed.yaml").write_text(REVIEWED)
    code, result = case.begin(9, "-w", str(case.folder / "reviewed.yaml"), "--no-input")
    for number in range(4):
        assert code == Exit.WAITING, (number, case.error())
        assert json.loads(result["question"]["artifact"]) == plans[number]
        verdict = "approve" if number == 3 else f"reject: not number {number}"
        assert case.replan("answer", result["question"]["id"], verdict)[0] == Exit.OK
        if number == 2:
            code, _ = case.replan("resume", "--last", "--no-input", kill={"label": "append.after", "nth": 1})
            assert code == -signal.SIGKILL
        code, result = case.replan("resume", "--last", "--no-input", "--json")
    assert (code, result["outcome"], result["plan"]) == (Exit.OK, "success", plans[3])
    assert len(case.requested()) <= 5, "a kill repeats one open call at most"


def test_a_step_with_two_questions_is_not_done_again_after_one_answer(open_case):
    """langchain-ai/langgraph#6208: a node with two interrupts runs again after one of them was answered."""
    asked = [{"question": f"Which {what}?", "choices": ["answer 0", "answer 1"]} for what in ("version", "system")]
    asking = {**ANALYSIS, "open_questions": asked}
    case = open_case(by_step({"g_analysis": [asking, ANALYSIS], "g_plan": [planned()]}))
    (case.folder / "flow.yaml").write_text(FLOW)
    code, _ = case.begin(9, "-w", str(case.folder / "flow.yaml"), "--no-input")
    assert code == Exit.WAITING
    questions = case.replan("questions", "--json")[1]["questions"]
    assert len({each["id"] for each in questions}) == 2
    for number, question in enumerate(reversed(questions)):
        assert (code, len(case.requested())) == (Exit.WAITING, 1), f"after {number} answers"
        assert case.replan("answer", question["id"], f"answer {number}")[0] == Exit.OK
        code, result = case.replan("resume", "--last", "--no-input", "--json")
    assert (code, result["outcome"], len(case.requested())) == (Exit.OK, "success", 3)
    assert all(f"answer {number}" in case.server.seen[1].prompt for number in (0, 1))


def test_an_answer_is_not_lost_if_the_call_after_it_fails_and_the_driver_is_killed(open_case):
    """microsoft/agent-framework#7458: an approval was used up, then the model failed; the user could not answer again.

    The provider fails after the answer, and the driver is killed. The answer is in the next prompt; sent once more, it
    is a duplicate; another one is refused with the accepted one.
    """
    asking = {**ANALYSIS, "open_questions": ["Which version is it?"]}
    answers = {"g_analysis": [asking, *[Answer.fault(503)] * 2, ANALYSIS], "g_plan": [planned()]}
    case = open_case(by_step(answers))
    (case.folder / "flow.yaml").write_text(FLOW)
    code, result = case.begin(9, "-w", str(case.folder / "flow.yaml"), "--no-input")
    question = result["question"]["id"]
    assert (code, case.replan("answer", question, "3.12")[0]) == (Exit.WAITING, Exit.OK)
    code, _ = case.replan("resume", "--last", "--no-input", kill={"label": "send.before", "nth": 2})
    assert (code, len(case.requested())) == (-signal.SIGKILL, 2)
    assert case.replan("answer", question, "3.12")[0] == Exit.OK
    assert case.replan("answer", question, "3.11")[0] == Exit.USAGE
    assert "3.12" in case.error()
    code, result = case.replan("resume", "--last", "--no-input", "--json")
    assert (code, result["outcome"]) == (Exit.OK, "success"), case.error()
    assert "3.12" in next(seen.prompt for seen in reversed(case.server.seen) if seen.step == "g_analysis")
