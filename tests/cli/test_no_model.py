"""What `replan` does where nobody names a model: it offers what it finds here, or prints the commands that name one."""

import json
import time
from contextlib import contextmanager

import pytest

import replan as api
from replan.setup import model_discovery
from replan.setup.model_discovery import PROBE_SECONDS, FoundModel, find_models
from replan.setup.settings import read_user_config
from runtime.core.errors import UsageProblem
from tests.support.openai_server import Answer, serve
from tests.support.receiver import free_port

TEMPLATES = """\
replan: replan run {problem} -m template:bug # a template, not a plan for your problem
replan: replan run {problem} -m template:feature # a template, not a plan for your problem
replan: replan run {problem} -m template:refactoring # a template, not a plan for your problem
replan: replan run {problem} -m template:performance # a template, not a plan for your problem
replan: replan run {problem} -m template:decide # a template, not a plan for your problem
"""
REFUSED = "replan: --model: no model is named (name a model as above, or set REPLAN_MODEL)\n"


@contextmanager
def listing(content, status=200, pause=0.0):
    requests = []

    def answer(headers):
        requests.append((headers[":path"], headers))
        time.sleep(pause)
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return Answer(status=status, body=body)

    with serve(lambda *_: None, models=answer) as server:
        yield server.port, requests


def models(*names):
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}


@pytest.fixture
def ollama(monkeypatch):
    """A fake Ollama with one model that writes and one that only embeds; its port, and the requests that came."""
    with listing(models("nomic-embed-text:latest", "qwen3:8b")) as served:
        monkeypatch.setattr(model_discovery, "PORTS", {"ollama": served[0]})
        yield served


def test_piped_in_an_empty_environment_it_prints_the_commands_of_the_templates(replan, problem):
    done = replan("run", problem)
    none = "replan: no key and no server of a language model was found (OPENAI_API_KEY, Ollama, ...)\n"
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == TEMPLATES.format(problem=problem) + none + REFUSED
    assert replan("runs", "--json").stdout.count("run_id") == 0


def test_piped_with_keys_it_prints_a_command_for_each(replan, problem, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "do-not-show")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "do-not-show")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com")
    done = replan("run", problem)
    assert done.exit_code == 2
    assert [line.split(" -m ")[1].split(maxsplit=2) for line in done.stderr.splitlines()[:5]] == [
        ["gpt-5-mini", "#", "OpenAI"],
        ["anthropic:claude-sonnet-5", "#", "Anthropic"],
        ["openrouter:openai/gpt-5-mini", "#", "OpenRouter"],
        ["gemini:gemini-flash-latest", "#", "Gemini"],
        ["azure:NAME", "#", "Azure OpenAI"],
    ]
    assert "do-not-show" not in done.stderr


def test_piped_with_a_server_it_prints_its_command_and_sends_nothing_of_the_problem(replan, problem, ollama):
    done = replan("run", problem)
    command = f"replan: replan run {problem} -m ollama:qwen3:8b # Ollama on this machine\n"
    assert (done.exit_code, done.stderr) == (2, command + TEMPLATES.format(problem=problem) + REFUSED)
    [(path, headers)] = ollama[1]
    assert path == "/v1/models"
    assert "authorization" not in headers


def test_other_commands_that_need_a_model_say_the_same(replan, problem, ollama):
    done = replan("do", problem)
    assert done.exit_code == 2
    assert f"replan do {problem}" in done.stderr
    assert "ollama:qwen3:8b" in done.stderr
    assert "template:bug" in done.stderr
    assert done.stderr.endswith(REFUSED)


def test_on_a_terminal_a_template_is_offered_where_nothing_is_found(in_terminal, problem):
    terminal = in_terminal("run", problem, NO_COLOR="1")
    terminal.read_until(r"which template\? \(bug, feature, refactoring, performance, decide, none\)")
    terminal.type("bug\n")
    assert terminal.end() == 0
    text = " ".join(terminal.text.split())
    assert "This plan has the shipped steps of `template:bug`" in text


def test_on_a_terminal_a_person_may_choose_nothing(in_terminal, problem):
    terminal = in_terminal("run", problem, NO_COLOR="1")
    terminal.read_until(r"which template\?")
    terminal.type("none\n")
    assert terminal.end() == 2
    assert "no model is named" in terminal.text


def test_on_a_terminal_the_model_of_a_server_is_offered_and_always_is_written_down(in_terminal, problem, home, ollama):
    ports = json.dumps({"ollama": ollama[0]})
    terminal = in_terminal("run", problem, "--dry-run", NO_COLOR="1", TEST_MODEL_PORTS=ports)
    terminal.read_until(r"qwen3:8b at Ollama on this machine: use it\? \(yes, no, always\)")
    terminal.type("always\n")
    assert terminal.end() == 0, terminal.text
    assert read_user_config(home / "config.yaml").model == "ollama:qwen3:8b"
    again = in_terminal("run", problem, "--dry-run", NO_COLOR="1")
    assert again.end() == 0
    assert "use it?" not in again.text


def test_always_keeps_what_the_config_file_says_already(in_terminal, problem, home, ollama):
    home.mkdir(mode=0o700, exist_ok=True)
    before = "# mine\nhome_budget: {calls: 7}"
    (home / "config.yaml").write_text(before)
    terminal = in_terminal("run", problem, "--dry-run", TEST_MODEL_PORTS=json.dumps({"ollama": ollama[0]}))
    terminal.read_until("use it")
    terminal.type("always\n")
    assert terminal.end() == 0, terminal.text
    assert (home / "config.yaml").read_text() == f'{before}\nmodel: "ollama:qwen3:8b"\n'


def test_on_a_terminal_no_goes_on_to_the_next_one(in_terminal, problem, ollama):
    ports = json.dumps({"ollama": ollama[0]})
    terminal = in_terminal("run", problem, "--dry-run", TEST_MODEL_PORTS=ports, ANTHROPIC_API_KEY="k")
    terminal.read_until("qwen3:8b at Ollama on this machine: use it")
    terminal.type("no\n")
    terminal.read_until("claude-sonnet-5 at Anthropic: use it")
    terminal.type("no\n")
    terminal.read_until("which template")
    terminal.type("decide\n")
    assert terminal.end() == 0, terminal.text


def test_doctor_shows_the_same_list(replan, ollama):
    checks = {item["name"]: item for item in json.loads(replan("doctor", "--json").stdout)["checks"]}
    assert checks["model"]["ok"]
    assert checks["model"]["found"].startswith("no model is named; ")
    assert "-m ollama:qwen3:8b (Ollama on this machine)" in checks["model"]["found"]
    assert "template:NAME (bug, feature, refactoring, performance, decide)" in checks["model"]["found"]


def test_python_gets_a_clear_error_with_the_same_list(ollama):
    with pytest.raises(UsageProblem, match="no model is named") as refused:
        api.solve("The login fails after a minute.", home=api.MEMORY)
    assert refused.value.place == "model"
    assert "ollama:qwen3:8b (Ollama on this machine)" in refused.value.hint


def test_a_plan_is_executed_without_a_model(replan, tmp_path):
    step = {"step_id": "do", "name": "Look", "generator": "look", "guard": "human", "retry_budget": 1}
    state = {"initial_state": ["a"], "goal_state": ["b"], "total_retry_budget": 2}
    plan = {"plan_id": "one", "goal": "Look", **state, "steps": [{**step, "preconditions": ["a"], "effects": ["b"]}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "work").mkdir()
    tools = "tools: {look: {command: [ls]}}\ngenerators: {look: look}\nguards: {human: look}\n"
    (tmp_path / "tools.yaml").write_text(tools)
    done = replan(
        "execute",
        tmp_path / "plan.json",
        "--tools",
        tmp_path / "tools.yaml",
        "--workspace",
        tmp_path / "work",
        "--no-input",
    )
    assert done.exit_code == 6, done.stderr
    assert "if this plan fails, no new plan can be made: no model is named" in done.stderr


def test_servers_are_asked_at_once_and_not_waited_for():
    with listing(models("slow"), pause=2 * PROBE_SECONDS) as (slow, _), listing(models("quick")) as (quick, _):
        before = time.monotonic()
        found = find_models({}, {"ollama": slow, "lmstudio": slow, "llamacpp": free_port(), "vllm": quick})
        assert time.monotonic() - before < 10 * PROBE_SECONDS
    assert found == (FoundModel("vllm:quick", "vLLM on this machine"),)


@pytest.mark.parametrize(
    "content",
    [b"<html>", b"", [], {"data": 3}, {"data": [3, {"id": None}, {"id": "a b"}, {"id": "\x1b[2J"}, {"id": "m" * 300}]}],
)
def test_what_is_no_list_of_models_is_no_server(content):
    with listing(content) as (port, _):
        assert find_models({}, {"vllm": port}) == ()


def test_a_server_that_refuses_is_none():
    with listing(models("m"), status=401) as (port, _):
        assert find_models({}, {"vllm": port}) == ()


def test_only_the_first_models_of_a_server_are_shown():
    with listing(models(*(f"m{n}" for n in range(9)))) as (port, _):
        assert [each.model for each in find_models({}, {"vllm": port})] == ["vllm:m0", "vllm:m1", "vllm:m2"]


def test_no_proxy_is_asked(monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    with listing(models("m")) as (port, _):
        assert [each.text for each in find_models({}, {"vllm": port})] == ["m at vLLM on this machine"]


def test_an_address_without_a_name_is_listed_and_not_offered():
    [found] = find_models({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, {})
    assert (found.model, found.named) == ("NAME", False)
