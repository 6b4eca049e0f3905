"""Settings of calls and models of steps, from the command line to what a server gets, and on resume."""

import json
import re
from dataclasses import replace

import pytest

from tests.cli.conftest import SCRIPT, run_id
from tests.cli.samples import ANALYSIS, PLAN
from tests.support.openai_server import Answer, by_step, serve

WORKFLOW = """\
name: two
model_settings: {verbosity: low}
action_pairs:
  g_analysis:
    generator: LLMJsonGenerator
    guard: analysis_valid
    model: cheap
    model_settings: {temperature: 0.9, stop: END}
  g_plan: {generator: LLMPlanGenerator, guard: plan_medium, requires: [g_analysis], prompt: plan_direct}
"""
CONFIG = """\
model: strong
prices:
  strong: {input_usd_per_mtok: 100000, output_usd_per_mtok: 200000}
  cheap: {input_usd_per_mtok: 1000, output_usd_per_mtok: 2000}
model_settings:
  strong: {seed: 1, verbosity: high, reasoning_effort: high}
  cheap: {seed: 2}
"""
NAMES = ("temperature", "top_p", "seed", "reasoning_effort", "verbosity", "stop")


@pytest.fixture
def workflow(tmp_path, home):
    """A workflow whose analysis is by a cheap model, and a home whose config file has settings and prices."""
    home.mkdir()
    (home / "config.yaml").write_text(CONFIG)
    path = tmp_path / "two.yaml"
    path.write_text(WORKFLOW)
    return path


def sent(seen):
    return seen.body["model"], {name: seen.body[name] for name in NAMES if name in seen.body}


@pytest.fixture
def server(monkeypatch):
    with serve(by_step({"g_analysis": ANALYSIS, "g_plan": PLAN})) as opened:
        monkeypatch.setenv("OPENAI_BASE_URL", opened.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-12345")
        yield opened


def test_each_step_asks_its_model_with_its_settings_and_costs_its_price(replan, problem, workflow, server):
    """Options go before the step, the step before the workflow, the workflow before config.yaml."""
    result = replan("run", problem, "-w", workflow, "--model-settings", "top_p=0.5", "--json")
    assert result.exit_code == 0, result.stderr
    assert [sent(each) for each in server.seen] == [
        ("cheap", {"temperature": 0.9, "top_p": 0.5, "seed": 2, "verbosity": "low", "stop": ["END"]}),
        ("strong", {"top_p": 0.5, "seed": 1, "reasoning_effort": "high", "verbosity": "low"}),
    ]
    # Each reply has 10 tokens of input and 5 of output.
    assert json.loads(result.stdout)["cost_usd"] == pytest.approx(10 * 0.101 + 5 * 0.202)


def test_an_option_goes_before_what_a_step_says(replan, problem, workflow, server):
    arguments = ("--model-settings", "temperature=0", "--model-settings", "stop=null")
    assert replan("run", problem, "-w", workflow, *arguments).exit_code == 0
    assert [sent(each)[1]["temperature"] for each in server.seen] == [0.0, 0.0]
    assert not [each for each in server.seen if "stop" in each.body]


def refusing(word):

    def handle(body, headers, n):
        if word in body:
            return Answer.fault(400, f"Unsupported parameter: '{word}'")
        return by_step({"g_analysis": ANALYSIS, "g_plan": PLAN})(body, headers, n)

    return handle


def test_a_refusal_names_the_setting_and_resume_goes_on_without_it_and_with_all_others(
    replan, problem, workflow, home, monkeypatch
):
    with serve(refusing("seed")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-12345")
        parked = replan("run", problem, "-w", workflow)
        assert parked.exit_code == 4
        assert "(leave out the setting seed)" in parked.stderr
        (home / "config.yaml").write_text("model: other\nmodel_settings: {cheap: {top_p: 0.1}}\n")
        before = len(server.seen)
        resumed = replan("resume", run_id(replan), "--model-settings", "seed=null")
        assert resumed.exit_code == 0, resumed.stderr
    assert [sent(each) for each in server.seen[before:]] == [
        ("cheap", {"temperature": 0.9, "verbosity": "low", "stop": ["END"]}),
        ("strong", {"reasoning_effort": "high", "verbosity": "low"}),
    ]
    assert "the setting seed" in replan("log", run_id(replan)).stdout


def test_a_run_goes_on_with_one_model_of_another_provider(replan, problem, workflow, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-12345")
    with serve(lambda *_: Answer.fault(402, "no credit")) as empty:
        monkeypatch.setenv("OPENAI_BASE_URL", empty.base_url)
        assert replan("run", problem, "-w", workflow).exit_code == 4
    with serve(by_step({"g_analysis": ANALYSIS, "g_plan": PLAN})) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert replan("resume", run_id(replan), "-m", "another").exit_code == 0
    assert [each.body["model"] for each in server.seen] == ["another", "another"]


def test_a_limit_of_money_needs_the_price_of_each_model(replan, problem, workflow, home, server):
    (home / "config.yaml").write_text(
        CONFIG.replace("  cheap: {input_usd_per_mtok: 1000, output_usd_per_mtok: 2000}\n", "")
    )
    result = replan("run", problem, "-w", workflow, "--max-cost", "1")
    assert result.exit_code == 2
    assert "the price of 'cheap' is not known" in result.stderr
    assert json.loads(replan("run", problem, "-w", workflow, "--json").stdout)["cost_usd"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("temperature: 0.9", "temprature: 0.9"),
            "two.yaml:8 action_pairs.g_analysis.model_settings.temprature: unknown",
        ),
        (("{verbosity: low}", "{verbosity: loud}"), "two.yaml:2 model_settings.verbosity: should be 'low', 'medium'"),
        (
            ("model: cheap", "model: scripted:a.yaml"),
            "two.yaml:7 action_pairs.g_analysis.model: the model of a step must not be a script",
        ),
        (
            ("model: cheap", "model: a b"),
            "two.yaml:7 action_pairs.g_analysis.model: a model's name must not contain spaces",
        ),
        (
            ("LLMJsonGenerator", "TemplateSelectorGenerator"),
            "two.yaml:7 action_pairs.g_analysis.model: generator 'Templ",
        ),
    ],
)
def test_a_wrong_key_of_a_workflow_is_named_with_its_line(replan, problem, workflow, change, message):
    workflow.write_text(WORKFLOW.replace(*change))
    result = replan("run", problem, "-w", workflow, "-m", "template:bug")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_wrong_key_of_the_config_file_is_named_with_its_line(replan, problem, home):
    home.mkdir()
    (home / "config.yaml").write_text("model_settings:\n  strong: {n: 2}\n")
    result = replan("run", problem, "-m", "template:bug")
    assert result.exit_code == 2
    assert "config.yaml:2 model_settings.strong.n: unknown setting 'n'" in result.stderr


def test_steps_of_a_child_run_ask_their_own_models_with_their_settings(replan, problem, workflow, server, tmp_path):
    parent = tmp_path / "parent.yaml"
    parent.write_text("name: parent\naction_pairs:\n  g_all: {generator: 'workflow:two.yaml', guard: plan_medium}\n")
    result = replan("run", problem, "-w", parent, "--model-settings", "top_p=0.5", "--json")
    assert result.exit_code == 0, result.stderr
    assert [sent(each) for each in server.seen] == [
        ("cheap", {"temperature": 0.9, "top_p": 0.5, "seed": 2, "verbosity": "low", "stop": ["END"]}),
        ("strong", {"top_p": 0.5, "seed": 1, "reasoning_effort": "high", "verbosity": "low"}),
    ]
    assert json.loads(result.stdout)["cost_usd"] == pytest.approx(10 * 0.101 + 5 * 0.202)


def test_a_run_without_a_key_for_a_steps_model_does_not_begin(replan, problem, workflow, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    result = replan("run", problem, "-w", workflow, "-m", "template:bug")
    assert (result.exit_code, "model 'cheap' of a step needs a key" in result.stderr) == (2, True)


def test_a_built_in_model_and_one_of_a_server_share_a_run(replan, problem, workflow, server):
    result = replan("run", problem, "-w", workflow, "-m", "template:bug")
    assert result.exit_code == 0, result.stderr
    assert [sent(each)[0] for each in server.seen] == ["cheap"]


def test_the_worst_case_in_money_takes_each_steps_own_price(replan, workflow):
    cost = json.loads(replan("workflow", "cost", workflow, "--json").stdout)
    assert cost["step_models"] == {"g_analysis": "cheap"}
    workflow.write_text(WORKFLOW.replace("    model: cheap\n", ""))
    assert json.loads(replan("workflow", "cost", workflow, "--json").stdout)["cost_usd_max"] >= cost["cost_usd_max"]
    workflow.write_text(WORKFLOW.replace("cheap", "unknown-to-all"))
    assert json.loads(replan("workflow", "cost", workflow, "--json").stdout)["cost_usd_max"] is None


def test_a_run_takes_shorter_prompts_from_the_start_or_once_it_is_resumed(replan, problem, scripted):
    done = replan("run", problem, "-m", scripted(SCRIPT), "--compact", "--json")
    run = json.loads(done.stdout)["run_id"]
    short = replan("show", run, "--prompt", "g_plan/v1.a1").stdout
    done = replan("run", problem, "-m", scripted(SCRIPT), "--max-calls", "3", "--json")
    run = json.loads(done.stdout)["run_id"]
    assert replan("resume", run, "--max-calls", "9", "--compact").exit_code == 0
    assert replan("show", run, "--prompt", "g_plan/v1.a1").stdout == short
    assert len(short) < 8_000


def test_a_refused_parameter_is_told_and_remembered_in_the_home(replan, problem, monkeypatch):

    def handle(body, _headers, _n):
        refused = "max_tokens" in body
        return Answer.fault(400, "Unsupported parameter: 'max_tokens'") if refused else Answer.value(PLAN)

    limits = {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "59", "x-ratelimit-reset": "100"}

    def limited(*request):
        answer = handle(*request)
        return replace(answer, headers={**answer.headers, **limits})

    with serve(limited) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        first = replan("run", problem, "-m", "gpt", "-w", "single")
        second = replan("run", problem, "-m", "gpt", "-w", "single")
        checks = json.loads(replan("doctor", "--json").stdout)["checks"]
    told = "the server refuses max_tokens: max_completion_tokens is sent instead"
    assert (first.exit_code, second.exit_code) == (0, 0), first.stderr
    assert told in first.stderr
    assert told not in second.stderr
    assert len(server.seen) == 3
    [found] = [check["found"] for check in checks if check["name"] == "refused"]
    assert found == f"{server.base_url} gpt: max_tokens (max_completion_tokens is sent)"
    [limits] = [check["found"] for check in checks if check["name"] == "limits"]
    assert re.fullmatch(rf"127.0.0.1:{server.port}: 5\d of 60 requests left, reset in \d+ s", limits)
