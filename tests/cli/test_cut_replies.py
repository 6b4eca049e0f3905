"""Replies that are cut, from the command line: what is told to the model and to the user, and the option that helps."""

import json

from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, PLAN
from tests.cli.test_bad_input import assert_refused
from tests.support.openai_server import Answer, serve

CUT = {"reply": json.dumps(PLAN)[:200], "finish_reason": "length"}
FILTERED = {"reply": "I will", "finish_reason": "content_filter"}
REVIEWED = """
name: looked_at
action_pairs:
  g_plan: {generator: model, guard: human_review, prompt: plan}
"""


def findings(replan, run):
    """Return the code of each rejection of a run, oldest first."""
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
    assert "reply.cut: The reply was cut off at the limit of 4,096 tokens" in result.stderr
    assert "reply.cut" not in server.seen[0].prompt
    assert "complete and much shorter" in server.seen[1].prompt
    run = run_id(replan)
    assert findings(replan, run) == ["reply.cut"]
    kinds = [event["kind"] for event in json.loads(replan("show", run, "--events", "--json").stdout)["events"]]
    assert kinds.count("judgement_requested") == 1


def test_a_filtered_reply_has_its_own_code(replan, problem, scripted):
    result = replan("run", problem, "-m", scripted({"g_plan": [FILTERED, PLAN]}), "-w", "single")
    assert result.exit_code == 0
    assert "reply.filtered: A content filter of the provider stopped the reply" in result.stderr


def test_a_complete_reply_is_judged_although_the_server_says_that_it_was_cut(replan, problem, scripted):
    whole = {"reply": PLAN, "finish_reason": "length"}
    result = replan("run", problem, "-m", scripted({"g_plan": [whole]}), "-w", "single")
    assert result.exit_code == 0


def test_a_person_is_not_asked_about_a_cut_reply(replan, problem, scripted, tmp_path):
    (tmp_path / "looked_at.yaml").write_text(REVIEWED)
    model = scripted({"g_plan": [CUT, PLAN]})
    result = replan("run", problem, "-m", model, "-w", tmp_path / "looked_at.yaml", "--no-input", "--json")
    assert result.exit_code == 6
    assert json.loads(result.stdout)["question"]["node"] == "g_plan/v1.a2"


def test_the_option_limits_every_step(replan, problem, monkeypatch, tmp_path):
    """Also a step with a limit of its own; and the run resumes without a word about an edited workflow."""
    (tmp_path / "own.yaml").write_text(
        "name: own\naction_pairs:\n"
        "  look: {generator: model, guard: analysis_valid, prompt: analysis, output_tokens_max: 300}\n"
        "  g_plan: {generator: model, guard: plan_medium, prompt: plan, requires: [look]}\n"
    )
    answers = [Answer.value(ANALYSIS), Answer.fault(401), Answer.value(PLAN)]
    with serve(lambda _b, _h, n: answers[n - 1]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        replan("run", problem, "-m", "gpt", "-w", tmp_path / "own.yaml", "--output-tokens", "9000")
        assert [seen.body["max_tokens"] for seen in server.seen] == [9000, 9000]
        resumed = replan("resume", run_id(replan))
    assert "differs now" not in resumed.stderr


def test_an_output_limit_below_one_token_is_refused(replan, problem):
    for number in ("0", "-5"):
        assert_refused(replan("run", problem, "-m", "rules", "--output-tokens", number), "--output-tokens")
