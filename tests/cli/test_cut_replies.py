"""Replies that are cut, from the command line: what is told to the model and to the user, and the option that helps."""

import json

import pytest

from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, PLAN
from tests.cli.test_bad_input import assert_refused
from tests.support.openai_server import Answer, serve

CUT = {"reply": json.dumps(PLAN)[:200], "finish_reason": "length"}
FILTERED = {"reply": "I will", "finish_reason": "content_filter"}


def findings(replan, run):
    events = json.loads(replan("show", run, "--events", "--json").stdout)["events"]
    verdicts = [event["verdict"] for event in events if event["kind"] == "verdict_reached"]
    return [verdict["findings"][0]["code"] for verdict in verdicts if not verdict["passed"]]


def test_the_author_of_a_cut_reply_is_asked_for_a_shorter_one(replan, problem, monkeypatch):
    """The user and the model read that the reply was cut, not that it is no JSON; no guard is asked."""
    answers = [Answer.stream(CUT["reply"], finish_reason="length"), Answer.value(PLAN)]
    with serve(lambda _b, _h, n: answers[n - 1]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        result = replan("run", problem, "-m", "gpt", "-w", "single")
    assert result.exit_code == 0, result.stderr
    assert "rejected: The reply was cut off at the limit of 4,096 tokens" in result.stderr
    assert "reply.cut" not in server.seen[0].prompt
    assert "complete and much shorter" in server.seen[1].prompt
    run = run_id(replan)
    assert findings(replan, run) == ["reply.cut"]
    kinds = [event["kind"] for event in json.loads(replan("show", run, "--events", "--json").stdout)["events"]]
    assert kinds.count("judgement_requested") == 1


def test_the_option_limits_every_step(replan, problem, monkeypatch, tmp_path):
    (tmp_path / "own.yaml").write_text(
        "name: own\naction_pairs:\n"
        "  look: {generator: model, guard: analysis_valid, prompt: analysis, output_tokens_max: 300}\n"
        "  g_plan: {generator: model, guard: plan_medium, prompt: plan, requires: [look]}\n"
    )
    answers = [Answer.value(ANALYSIS), Answer.fault(401), Answer.value(PLAN)]
    with serve(lambda _b, _h, n: answers[n - 1]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        replan("run", problem, "-m", "gpt", "-w", tmp_path / "own.yaml", "--output-tokens-max", "9000")
        assert [seen.body["max_tokens"] for seen in server.seen] == [9000, 9000]
        resumed = replan("resume", run_id(replan))
    assert "differs now" not in resumed.stderr


def test_an_output_limit_below_one_token_is_refused(replan, problem):
    for number in ("0", "-5"):
        assert_refused(
            replan("run", problem, "-m", "template:bug", "--output-tokens-max", number), "--output-tokens-max"
        )


@pytest.mark.parametrize(("reply", "words"), [(CUT, "--output-tokens-max 8192"), (FILTERED, "-m MODEL")])
def test_the_second_one_parks_and_the_report_says_how_it_goes_on(replan, problem, scripted, reply, words):
    model = scripted({"g_plan": [reply, reply, PLAN]})
    parked = replan("run", problem, "-m", model, "-w", "single")
    assert parked.exit_code == 4, parked.output
    run = run_id(replan)
    shown = " ".join(parked.stdout.split())
    assert "Parked" in shown
    assert f"again: {'The reply was cut off' if reply is CUT else 'A content filter'}" in shown
    assert f"resume {run}" in shown
    assert words in shown
    assert "The last rejection" in shown
    state = json.loads(replan("show", run, "--json").stdout)
    assert (state["status"], state["calls"], state["plan"]) == ("parked", 2, None)
    options = ["--output-tokens-max", "8192"] if reply is CUT else []
    resumed = replan("resume", run, *options, "--json")
    assert resumed.exit_code == 0, resumed.output
    assert json.loads(resumed.stdout)["calls"] == 3
    assert ("the token limit of a reply to 8,192" in replan("log", run).stdout) == (reply is CUT)


def test_what_was_accepted_before_is_not_asked_again(replan, problem, monkeypatch):
    cut = Answer.say(CUT["reply"], finish_reason="length")
    answers = [Answer.value(ANALYSIS), cut, cut, Answer.value(PLAN)]
    with serve(lambda _b, _h, n: answers[n - 1]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert replan("run", problem, "-m", "gpt", "-w", "option_a").exit_code == 4
        assert replan("resume", run_id(replan), "--output-tokens-max", "20000").exit_code == 0
        assert [seen.step for seen in server.seen] == ["g_analysis", "g_plan", "g_plan", "g_plan"]
        assert [seen.body["max_tokens"] for seen in server.seen] == [4096, 4096, 4096, 20000]
        assert "much shorter" in server.seen[2].prompt
        assert "The limit is 20,000 tokens now" in server.seen[3].prompt
        assert "much shorter" not in server.seen[3].prompt


def test_a_child_run_that_parks_for_it_parks_its_parent_and_gets_the_new_limit(replan, problem, monkeypatch, tmp_path):
    (tmp_path / "parent.yaml").write_text(
        "name: parent\naction_pairs:\n  g_plan: {generator: 'workflow:single', guard: plan_medium}\n"
    )
    cut = Answer.say(CUT["reply"], finish_reason="length")
    answers = [cut, cut, Answer.value(PLAN)]
    with serve(lambda _b, _h, n: answers[n - 1]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        parked = replan("run", problem, "-m", "gpt", "-w", tmp_path / "parent.yaml")
        assert parked.exit_code == 4, parked.output
        assert "--output-tokens-max N" in " ".join(parked.stdout.split())
        resumed = replan("resume", run_id(replan), "--output-tokens-max", "20000")
        assert resumed.exit_code == 0, resumed.output
        assert [seen.body["max_tokens"] for seen in server.seen] == [4096, 4096, 20000]


@pytest.mark.parametrize("number", ["0", "-5", "2000000"])
def test_a_limit_that_cannot_be_meant_is_refused_on_resume_too(replan, problem, scripted, number):
    model = scripted({"g_plan": [CUT, CUT, PLAN]})
    replan("run", problem, "-m", model, "-w", "single")
    assert_refused(replan("resume", run_id(replan), "--output-tokens-max", number), "--output-tokens-max")
