"""`workflow` and `doctor`: their output."""

import json

import pytest
import yaml

from actors.config.loader import shipped_workflows
from actors.config.workflow import Workflow
from replan.setup.installation import data_root
from tests.cli.test_bad_input import assert_refused
from tests.support.openai_server import Answer, serve

SHIPPED = shipped_workflows(data_root())


def test_the_list_has_one_line_per_shipped_workflow(replan, home):
    rows = json.loads(replan("workflow", "list", "--json").stdout)["workflows"]
    assert tuple(row["name"] for row in rows) == SHIPPED
    assert all(row["description"] for row in rows)
    assert len(replan("workflow", "list").stdout.splitlines()) == len(SHIPPED)
    assert not home.exists()


@pytest.mark.parametrize("name", SHIPPED)
def test_show_prints_the_workflow_as_valid_yaml_and_json(replan, name):
    text = replan("workflow", "show", name).stdout
    value = json.loads(replan("workflow", "show", name, "--json").stdout)
    assert yaml.safe_load(text) == value
    assert Workflow.model_validate(value).name == name


@pytest.mark.parametrize("name", SHIPPED)
def test_a_workflow_graph_is_drawn_and_valid_as_a_plan(replan, name):
    assert replan("workflow", "graph", name).stdout.startswith("flowchart LR\n")
    plan = replan("workflow", "graph", name, "--as-plan").stdout
    checked = replan("check", "-", "--level", "expansive", input=plan)
    assert checked.exit_code == 0, checked.stdout


@pytest.mark.parametrize("kind", ["workflow", "prompts", "policy"])
def test_schemas_are_json_schemas(replan, kind):
    schema = json.loads(replan("workflow", "schema", kind).stdout)
    assert schema["type"] == "object"
    assert schema["$schema"].startswith("https://json-schema.org/")


def test_the_cost_is_the_exact_worst_case(replan):
    shown = json.loads(replan("workflow", "cost", "option_a", "-m", "template:bug", "--json").stdout)
    assert (shown["calls_happy"], shown["calls_worst"], shown["cost_usd_max"]) == (2, 6, 0)
    assert "6 calls" in replan("workflow", "cost", "option_a", "-m", "template:bug").stdout


def test_an_unknown_workflow_gets_a_suggestion(replan):
    for command in ("show", "graph", "cost"):
        assert_refused(replan("workflow", command, "option_aa"), "replan: NAME: unknown workflow", "option_a")


def test_the_doctor_reports_a_sound_installation_and_writes_nothing(replan, home):
    result = replan("doctor", "--json")
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["ok"]) == (0, True)
    assert {"python", "sqlite", "home", "journal", "model", "key", "server", "terminal"} <= {
        item["name"] for item in shown["checks"]
    }
    assert not home.exists()


def test_the_doctor_reports_problems_and_hides_the_key(replan, home, monkeypatch):
    home.mkdir()
    home.chmod(0o777)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    result = replan("doctor", "--online", "--json")
    wrong = {item["name"]: item["found"] for item in json.loads(result.stdout)["checks"] if not item["ok"]}
    assert result.exit_code == 1
    assert set(wrong) == {"home", "server"}
    assert "chmod go-w" in wrong["home"]
    assert "cannot be reached" in wrong["server"]
    assert "very-secret" not in result.stdout
    assert "WRONG" in replan("doctor").stdout


def test_the_doctor_reports_an_invalid_config_file_once(replan, home):
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("modle: template:bug\n")
    result = replan("doctor", "--json")
    wrong = [item for item in json.loads(result.stdout)["checks"] if not item["ok"]]
    assert result.exit_code == 1
    assert [item["name"] for item in wrong] == ["config"]
    assert "did you mean 'model'?" in wrong[0]["found"]


@pytest.mark.parametrize(("status", "code", "message"), [(200, 0, "accepts the key"), (401, 1, "refuses the key")])
def test_the_doctor_connects_to_the_server_only_with_online(replan, monkeypatch, status, code, message):
    requests = []

    def models(headers):
        requests.append((headers[":path"], headers["authorization"]))
        return Answer(status=status)

    with serve(lambda *_: None, models=models) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key")
        monkeypatch.setenv("REPLAN_MODEL", "gpt-test")
        assert replan("doctor").exit_code == 0
        assert requests == []
        result = replan("doctor", "--online")
    assert requests == [("/v1/models", "Bearer sk-test-key")]
    assert result.exit_code == code
    assert message in result.stdout
    assert "sk-test-key" not in result.output


def test_the_doctor_says_the_context_window_of_the_model(replan, monkeypatch):
    answers = {"/v1/models": {"data": [{"id": "qwen3:8b"}]}, "/props": {"default_generation_settings": {"n_ctx": 4096}}}
    with serve(lambda *_: None, models=lambda headers: Answer.json(answers.get(headers[":path"], {}))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("REPLAN_MODEL", "qwen3:8b")
        result = replan("doctor", "--online")
    assert "it has the model 'qwen3:8b', with a context window of 4,096 tokens (/props)" in result.stdout
    assert server.seen == []


@pytest.mark.parametrize(
    ("model", "code", "message"),
    [
        ("qwen3:8b", 0, "it has the model 'qwen3:8b'"),
        ("llama3", 0, "it has the model 'llama3'"),
        ("qwen3:8", 1, "does not list the model 'qwen3:8' (did you mean 'qwen3:8b'?)"),
        ("template:bug", 0, "answers (status 200)"),
    ],
)
def test_the_doctor_looks_for_the_model_in_the_servers_list(replan, monkeypatch, model, code, message):
    listed = Answer.json({"data": [{"id": "qwen3:8b"}, {"id": "llama3:latest"}]})
    with serve(lambda *_: None, models=lambda _: listed) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        result = replan("doctor", "--online", "-m", model, "--json")
    (check,) = [item for item in json.loads(result.stdout)["checks"] if item["name"] == "server"]
    assert message in check["found"]
    assert result.exit_code == code


def test_an_atomicguard_file_is_shown_and_its_run_refused_for_missing_plug_ins(replan, tmp_path):
    pair = {"generator": "CoderGenerator", "guard": "tests_pass", "output_type": "Code"}
    path = tmp_path / "workflow.json"
    path.write_text(json.dumps({"name": "Theirs", "tests_min": 3, "action_pairs": {"g_code": pair}}))
    shown = replan("workflow", "show", str(path), "--json")
    assert shown.exit_code == 0
    assert json.loads(shown.stdout)["action_pairs"]["g_code"]["generator"] == "CoderGenerator"
    lacking = "not available: generator 'CoderGenerator', guard 'tests_pass', a prompt for 'g_code'"
    assert [line.partition("workflow.json")[2].partition(" (add guards")[0] for line in shown.stderr.splitlines()] == [
        ":1 tests_min: ignored; Replan does not use this key",
        ":1 action_pairs.g_code.output_type: ignored; Replan does not use this key",
        f": {lacking}",
    ]
    run = replan("run", "-", "-w", str(path), "-m", "template:bug", input="Login fails with a timeout in src/login.py.")
    assert (run.exit_code, run.stdout) == (2, "")
    assert lacking in run.stderr
    assert len(run.stderr.splitlines()) == 1
