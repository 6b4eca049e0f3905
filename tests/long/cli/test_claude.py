"""Models of Anthropic on the command line: a run, the change of provider, what is refused, and what `doctor` says."""

import json

import pytest

from actors.run import outage
from tests.cli.conftest import run_id
from tests.cli.samples import LOST, PLAN
from tests.support.openai_server import Answer, serve

KEYS = {"OPENAI_API_KEY": "sk-openai-0123456789", "ANTHROPIC_API_KEY": "sk-ant-api03-0123456789"}
CLAUDE, GPT = "anthropic:claude-test", "gpt-test"
PRICES = """
prices:
  "anthropic:claude-test": {input_usd_per_mtok: 20, output_usd_per_mtok: 40}
  gpt-test: {input_usd_per_mtok: 10, output_usd_per_mtok: 20}
"""


def provider_of(headers):
    return CLAUDE if "anthropic-version" in headers else GPT


@pytest.fixture
def serving(monkeypatch):
    """Serves both providers at one address."""

    def start(handler, **more):
        server = serve(handler, **more)
        started = server.__enter__()
        for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
            monkeypatch.setenv(name, started.base_url)
        for name, key in KEYS.items():
            monkeypatch.setenv(name, key)
        servers.append(server)
        return started

    servers = []
    yield start
    for server in servers:
        server.__exit__(None, None, None)


def test_a_run_of_claude_is_planned_and_its_key_is_in_no_file_and_no_output(replan, home, problem, serving):
    server = serving(lambda *_: Answer.stream(json.dumps(PLAN)))
    done = replan("run", problem, "-m", CLAUDE, "-w", "single", "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert (result["calls"], result["tokens"]) == (1, 15)
    assert [seen.path for seen in server.seen] == ["/v1/messages"]
    assert server.seen[0].body["tool_choice"]["type"] == "tool"
    shown = "".join(replan(*command).output for command in (["show", result["run_id"]], ["log", result["run_id"]]))
    written = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    for key in KEYS.values():
        assert key not in done.output + shown
        assert key.encode() not in written


@pytest.mark.parametrize("models", [(GPT, CLAUDE), (CLAUDE, GPT)], ids=["to Anthropic", "from Anthropic"])
def test_a_run_goes_on_with_another_provider_and_its_budgets_add_up(replan, home, problem, serving, models):
    """The first provider's plan is rejected, then it has no credit; the second one's plan is proved."""
    first, second = models
    home.mkdir()
    (home / "config.yaml").write_text(PRICES)

    def handle(_body, headers, n):
        if provider_of(headers) == second:
            return Answer.say(json.dumps(PLAN))
        return Answer.say(json.dumps(LOST)) if n == 1 else Answer.fault(402, "Your credit balance is too low")

    server = serving(handle)
    parked = replan("run", problem, "-m", first, "-w", "single", "--max-calls", "2", "--max-cost", "9", "--json")
    assert parked.exit_code == 4, parked.output
    resumed = replan("resume", json.loads(parked.stdout)["run_id"], "-m", second, "--json")
    assert resumed.exit_code == 0, resumed.output
    before, after = json.loads(parked.stdout), json.loads(resumed.stdout)
    assert (before["calls"], before["tokens"], after["calls"], after["tokens"]) == (1, 15, 2, 30)
    cost = {GPT: 10 * 10e-6 + 5 * 20e-6, CLAUDE: 10 * 20e-6 + 5 * 40e-6}
    assert before["cost_usd"] == pytest.approx(cost[first])
    assert after["cost_usd"] == pytest.approx(cost[first] + cost[second])
    assert [provider_of(seen.headers) for seen in server.seen] == [first, first, second]


def test_the_limit_of_a_run_holds_across_providers(replan, problem, serving):

    def handle(_body, headers, n):
        says = provider_of(headers) == CLAUDE or n == 1
        return Answer.say(json.dumps(LOST)) if says else Answer.fault(402, "no credit")

    serving(handle)
    parked = replan("run", problem, "-m", GPT, "-w", "single", "--max-calls", "2", "--json")
    assert parked.exit_code == 4, parked.output
    ended = replan("resume", run_id(replan), "-m", CLAUDE, "--json")
    assert (ended.exit_code, json.loads(ended.stdout)["calls"]) == (5, 2), ended.output


def test_steps_of_one_run_may_ask_models_of_two_providers(replan, tmp_path, problem, serving):
    server = serving(lambda *_: Answer.say(json.dumps(PLAN)))
    workflow = tmp_path / "w.yaml"
    step = f'{{generator: model, guard: plan_medium, prompt: plan_direct, model: "{CLAUDE}"}}'
    workflow.write_text(f"name: w\naction_pairs:\n  g_plan: {step}\n")
    done = replan("run", problem, "-m", GPT, "-w", workflow, "--json")
    assert done.exit_code == 0, done.output
    assert [provider_of(seen.headers) for seen in server.seen] == [CLAUDE]


def test_a_refused_key_is_told_with_its_variable(replan, problem, serving, monkeypatch):
    monkeypatch.setattr(outage, "BACKOFF_FIRST", 0.001)
    serving(lambda *_: Answer.fault(401, "invalid x-api-key"))
    parked = replan("run", problem, "-m", CLAUDE, "-w", "single")
    assert parked.exit_code == 4
    assert "set ANTHROPIC_API_KEY to a key that this server accepts" in " ".join(parked.stdout.split())


@pytest.mark.parametrize("setting", ["temperature=0.2", "seed=7", "verbosity=low", "reasoning_effort=none"])
def test_a_setting_that_the_provider_does_not_have_is_refused_before_the_run(replan, problem, serving, setting):
    server = serving(lambda *_: Answer.say(json.dumps(PLAN)))
    refused = replan("run", problem, "-m", CLAUDE, "-w", "single", "--model-settings", setting)
    name = setting if setting.startswith("reasoning") else setting.partition("=")[0]
    assert refused.exit_code == 2
    assert refused.stderr.splitlines() == [
        f"replan: --model-settings: the provider of '{CLAUDE}' does not accept {name} (remove {name})"
    ]
    assert server.seen == []


def test_a_setting_of_the_first_provider_that_the_second_lacks_parks_the_run_and_can_be_taken_away(
    replan, problem, serving
):
    refusing = Answer.fault(402, "no credit")
    serving(lambda _b, headers, _n: Answer.say(json.dumps(PLAN)) if provider_of(headers) == CLAUDE else refusing)
    replan("run", problem, "-m", GPT, "-w", "single", "--model-settings", "seed=7")
    parked = replan("resume", run_id(replan), "-m", CLAUDE)
    assert parked.exit_code == 4
    assert "bad_request: Anthropic does not take the setting seed (leave it out)" in parked.stdout
    assert replan("resume", run_id(replan), "--model-settings", "seed=null").exit_code == 0


def test_the_doctor_checks_the_provider_of_the_model(replan, serving):
    models = lambda headers: (  # noqa: E731
        Answer.json({"data": [{"id": "claude-test"}], "has_more": False})
        if headers.get("anthropic-version") and headers.get("authorization") == f"Bearer {KEYS['ANTHROPIC_API_KEY']}"
        else Answer.fault(401, "no")
    )
    serving(lambda *_: Answer.fault(500), models=models)
    done = replan("doctor", "-m", CLAUDE, "--online", "--json")
    checks = {check["name"]: check["found"] for check in json.loads(done.stdout)["checks"]}
    assert done.exit_code == 0, done.output
    assert checks["anthropic"].startswith("2.")
    assert checks["key"] == "ANTHROPIC_API_KEY is set (********, 23 characters)"
    assert "(ANTHROPIC_BASE_URL) answers, and accepts the key; it has the model 'claude-test'" in checks["server"]
    lacking = replan("doctor", "-m", "anthropic:claude-tst", "--online")
    assert lacking.exit_code == 1
    assert "does not list the model 'claude-tst' (did you mean 'claude-test'?" in " ".join(lacking.stdout.split())


def test_without_the_extra_a_run_and_the_doctor_say_what_to_install(replan, problem, serving, monkeypatch):
    serving(lambda *_: Answer.fault(500))
    monkeypatch.setattr("runtime.models.open_models.find_spec", lambda _: None)
    monkeypatch.setattr("replan.cli.diagnosis.find_spec", lambda _: None)
    refused = replan("run", problem, "-m", CLAUDE)
    assert refused.exit_code == 2
    [line] = refused.stderr.splitlines()
    assert line.startswith("replan: Anthropic's models need the extra anthropic (install it: pip install '")
    assert "[anthropic]" in line
    checks = {
        check["name"]: check for check in json.loads(replan("doctor", "--json", "-m", "template:bug").stdout)["checks"]
    }
    assert checks["anthropic"]["ok"]
    assert checks["anthropic"]["found"].startswith("not installed; anthropic:NAME needs it (pip install '")
