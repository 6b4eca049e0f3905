"""Limits that hold although calls run side by side, children spend, drivers are killed and models repeat themselves."""

import signal

import pytest

from actors.config.loader import read_workflow
from actors.planning.config import graph_of
from actors.search.graph import worst_case_calls
from replan.cli.exits import Exit
from replan.setup.installation import data_root
from tests.support.answers import Answer, by_step, request_parts
from tests.support.artifacts import GOOD, plan

BROKEN = plan(needs_missing_token="licence_granted")
MILLION = 1_000_000
INPUT_USD, OUTPUT_USD = 1.25, 10.0
"""The price of a million tokens."""
PRICES = f"prices:\n  test-model: {{input_usd_per_mtok: {INPUT_USD}, output_usd_per_mtok: {OUTPUT_USD}}}\n"
CAP_USD = 0.50
CALLS_WITHOUT_HOPE = 12
"""At most: the calls after which the shipped workflow finds no further one worth it, if no plan is ever accepted."""
PARENT = """
name: above
action_pairs:
  g_analysis: {generator: model, guard: analysis_valid}
  g_plan: {generator: "workflow:./below.yaml", guard: plan_medium, requires: [g_analysis], rmax: 5}
"""
CHILD = """
name: below
action_pairs:
  g_analysis: {generator: model, guard: analysis_valid, rmax: 1}
  g_plan: {generator: model, guard: plan_medium, requires: [g_analysis], rmax: 3}
"""


def dear(body, headers, n):
    """Answer with a plan that is rejected; the reply is charged with all tokens that the request allows."""
    step = request_parts(headers["x-client-request-id"])["step"]
    value = GOOD[step] if step != "g_plan" else {**BROKEN, "plan_id": f"plan-{n}"}
    said = sum(len(str(message["content"])) for message in body["messages"]) // 4
    allowed = body.get("max_completion_tokens") or body["max_tokens"]
    usage = {"prompt_tokens": said, "completion_tokens": allowed, "total_tokens": said + allowed}
    return Answer.value(value, usage=usage)


def bill(case):
    """Return what the provider charges for all requests that it received, in dollars."""
    total = 0.0
    for seen in case.server.seen:
        said = sum(len(str(message["content"])) for message in seen.body["messages"]) // 4
        allowed = seen.body.get("max_completion_tokens") or seen.body["max_tokens"]
        total += said * INPUT_USD + allowed * OUTPUT_USD
    return total / MILLION


@pytest.mark.parametrize("kills", [0, 3])
def test_a_limit_of_half_a_dollar_stops_the_run_before_it_is_passed(kills, open_case):
    """paperclipai/paperclip#11276: with a cap of $0.50 one run spent $5.11, since costs were recorded at its end.

    Each reply is as long as it may be, and none is accepted; drivers are killed with a call in flight.
    """
    case = open_case(dear)
    case.journal.parent.mkdir(mode=0o700)
    (case.journal.parent / "config.yaml").write_text(PRICES)
    flow = case.folder / "flow.yaml"
    flow.write_text((data_root() / "configs" / "workflows" / "single.yaml").read_text() + "rmax: 200\n")
    argv = (*case.run_command(200)[:-1], "-w", str(flow), "--max-cost", str(CAP_USD), "--json")
    code, result = case.replan(*argv, **({"kill": {"label": "reply.after", "nth": 2}} if kills else {}))
    for killed in range(1, kills + 1):
        assert code == -signal.SIGKILL
        more = {"kill": {"label": "reply.after", "nth": 2}} if killed < kills else {}
        code, result = case.replan("resume", "--last", "--json", **more)
    assert (code, result["outcome"]) == (Exit.BUDGET, "budget_exhausted"), case.error()
    assert len(case.server.seen) > kills + 3
    assert bill(case) <= result["cost_usd"] <= CAP_USD
    case.check_billing()


@pytest.mark.parametrize("killed", [False, True])
def test_the_calls_of_children_count_against_the_parents_limit_and_are_never_given_back(killed, open_case):
    """langchain-ai/deepagentsjs#842: a child's end reset the parent's counter, so a limit of 3 let 10 calls through."""
    limit = 7
    case = open_case(by_step({"g_analysis": [GOOD["g_analysis"]] * 99, "g_plan": [BROKEN] * 99}))
    (case.folder / "above.yaml").write_text(PARENT)
    (case.folder / "below.yaml").write_text(CHILD)
    argv = (*case.run_command(limit), "-w", str(case.folder / "above.yaml"))
    code, result = case.replan(*argv, **({"kill": {"label": "finish.after", "nth": 1}} if killed else {}))
    if killed:
        assert code == -signal.SIGKILL
        assert len(case.runs()) == 2, "the first child has ended"
        code, result = case.replan("resume", "--last", "--json")
    assert (code, result["outcome"]) == (Exit.BUDGET, "budget_exhausted"), case.error()
    assert len(case.runs()) >= 3, "there was a second child"
    assert len(case.requested()) == result["calls"] == limit


@pytest.mark.parametrize("stops", [True, False])
@pytest.mark.parametrize("varied", [False, True])
def test_a_model_that_repeats_itself_is_stopped(varied, stops, open_case):
    """jwbron/egg#3595: an agent repeated itself for 94 minutes and 613 calls, and no detector noticed it.

    Also where each reply differs in a name, so that no two are the same, and where no chance is too small to go on.
    """

    def repeating(_body, headers, n):
        step = request_parts(headers["x-client-request-id"])["step"]
        value = GOOD[step] if step != "g_plan" else BROKEN
        if not varied:
            return Answer.value(value)
        return Answer.value({**value, "plan_id": f"p{n}"} if step == "g_plan" else {**value, "rationale": f"R{n}."})

    case = open_case(repeating)
    code, result = case.begin(613, *(() if stops else ("--keep-trying",)))
    assert code == (Exit.BUDGET if stops else Exit.UNSOLVED), result["why"]
    assert result["why"].startswith(("not_worth_it", "stuck: the model wrote")) is stops
    worst = worst_case_calls(graph_of(read_workflow("search", data_root())[0]))
    assert len(case.requested()) == result["calls"] <= (CALLS_WITHOUT_HOPE if stops else worst)


def test_a_plan_that_was_rejected_last_is_not_returned(open_case):
    """guardrails-ai/guardrails#283: after the last retry an invalid object was returned, and nothing was raised."""
    case = open_case(by_step({"g_plan": [BROKEN] * 9}))
    code, result = case.begin(9, "-w", "single")
    assert (code, result["outcome"], result["plan"], result["path"]) == (Exit.UNSOLVED, "all_pruned", None, [])
    assert "plan.precondition_unsatisfied" in {finding["code"] for finding in result["findings"]}
    assert case.replan("show", "--last", "--plan", "--json")[0] == Exit.USAGE
    assert case.replan("export", "--last", "-o", str(case.folder / "plan.json"))[0] == Exit.USAGE
    assert not (case.folder / "plan.json").exists()
