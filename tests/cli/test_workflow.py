"""`workflow` and `doctor`: what they print, and that it is true."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import yaml

from actors.config.loader import shipped_workflows
from actors.config.workflow import Workflow
from replan.setup.data_files import data_root
from tests.cli.test_bad_input import refused

SHIPPED = shipped_workflows(data_root())


def test_the_list_has_every_shipped_workflow_with_a_line(replan, home):
    rows = json.loads(replan("workflow", "list", "--json").stdout)["workflows"]
    assert tuple(row["name"] for row in rows) == SHIPPED
    assert all(row["description"] for row in rows)
    assert len(replan("workflow", "list").stdout.splitlines()) == len(SHIPPED)
    assert not home.exists()


@pytest.mark.parametrize("name", SHIPPED)
def test_what_show_prints_is_the_workflow_itself(replan, name):
    text = replan("workflow", "show", name).stdout
    value = json.loads(replan("workflow", "show", name, "--json").stdout)
    assert yaml.safe_load(text) == value
    assert Workflow.model_validate(value).name == name


@pytest.mark.parametrize("name", SHIPPED)
def test_graphs_are_drawn_and_proved(replan, name):
    assert replan("workflow", "graph", name).stdout.startswith("flowchart LR\n")
    assert replan("workflow", "graph", name, "--format", "dot").stdout.startswith("digraph workflow {\n")
    plan = replan("workflow", "graph", name, "--as-plan").stdout
    checked = replan("check", "-", "--level", "expansive", input=plan)
    assert checked.exit_code == 0, checked.stdout


@pytest.mark.parametrize("kind", ["workflow", "prompts", "policy"])
def test_schemas_are_json_schemas(replan, kind):
    schema = json.loads(replan("workflow", "schema", kind).stdout)
    assert schema["type"] == "object"
    assert schema["$schema"].startswith("https://json-schema.org/")


def test_the_cost_is_the_exact_worst_case(replan):
    shown = json.loads(replan("workflow", "cost", "option_a", "-m", "rules", "--json").stdout)
    assert (shown["calls_happy"], shown["calls_worst"], shown["cost_usd_max"]) == (2, 6, 0)
    assert "6 calls" in replan("workflow", "cost", "option_a", "-m", "rules").stdout


def test_an_unknown_workflow_gets_the_nearest_name(replan):
    for command in ("show", "graph", "cost"):
        refused(replan("workflow", command, "option_aa"), "replan: NAME: unknown workflow", "option_a")


def test_the_doctor_finds_a_sound_house_and_writes_nothing(replan, home):
    done = replan("doctor", "--json")
    shown = json.loads(done.stdout)
    assert (done.exit_code, shown["ok"]) == (0, True)
    assert {"python", "sqlite", "home", "journal", "model", "key", "server", "terminal"} <= {
        one["name"] for one in shown["checks"]
    }
    assert not home.exists()


def test_the_doctor_names_what_is_wrong_and_hides_the_key(replan, home, monkeypatch):
    home.mkdir()
    home.chmod(0o777)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    done = replan("doctor", "--online", "--json")
    wrong = {one["name"]: one["found"] for one in json.loads(done.stdout)["checks"] if not one["ok"]}
    assert done.exit_code == 1
    assert set(wrong) == {"home", "model", "server"}
    assert "chmod go-w" in wrong["home"]
    assert "REPLAN_MODEL" in wrong["model"]
    assert "cannot be reached" in wrong["server"]
    assert "very-secret" not in done.stdout
    assert "WRONG" in replan("doctor").stdout


@pytest.mark.parametrize(
    ("mode", "said"),
    [(0o755, "{program}"), (0o644, "notify: '{program}' may not be run"), (None, "is no program that is found")],
)
def test_the_doctor_finds_the_notify_program_or_says_why_it_cannot_be_started(replan, home, tmp_path, mode, said):
    program = tmp_path / "tell-me"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(json.dumps({"notify": [str(program), "--token=secret"]}))
    if mode is not None:
        program.write_text("#!/bin/sh\n")
        program.chmod(mode)
    done = replan("doctor", "--json")
    (notify,) = [one for one in json.loads(done.stdout)["checks"] if one["name"] == "notify"]
    assert (notify["ok"], done.exit_code) == ((True, 0) if mode == 0o755 else (False, 1))
    assert said.format(program=program) in notify["found"]
    assert "secret" not in done.stdout


def test_the_doctor_tells_of_a_wrong_config_file_once(replan, home):
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("notfy: [tell-me]\n")
    done = replan("doctor", "--json")
    wrong = [one for one in json.loads(done.stdout)["checks"] if not one["ok"]]
    assert done.exit_code == 1
    assert [one["name"] for one in wrong] == ["config"]
    assert "did you mean 'notify'?" in wrong[0]["found"]


@pytest.mark.parametrize(("status", "code", "said"), [(200, 0, "takes the key"), (401, 1, "refuses the key")])
def test_the_doctor_asks_the_server_only_when_told_to(replan, monkeypatch, status, code, said):
    seen = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, self.headers["Authorization"]))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key")
        monkeypatch.setenv("REPLAN_MODEL", "gpt-test")
        assert replan("doctor").exit_code == 0
        assert seen == []
        done = replan("doctor", "--online")
        server.shutdown()
        thread.join()
    assert seen == [("/v1/models", "Bearer sk-test-key")]
    assert done.exit_code == code
    assert said in done.stdout
    assert "sk-test-key" not in done.output


def test_a_file_of_atomicguard_is_shown_and_its_run_refused_for_what_is_not_here(replan, tmp_path):
    """Every notice, and the one problem, is a line on stderr."""
    theirs = {"generator": "CoderGenerator", "guard": "tests_pass", "output_type": "Code"}
    path = tmp_path / "workflow.json"
    path.write_text(json.dumps({"name": "Theirs", "tests_min": 3, "action_pairs": {"g_code": theirs}}))
    shown = replan("workflow", "show", str(path), "--json")
    assert shown.exit_code == 0
    assert json.loads(shown.stdout)["action_pairs"]["g_code"]["generator"] == "CoderGenerator"
    lacking = "not available: generator 'CoderGenerator', guard 'tests_pass', a prompt for 'g_code'"
    assert [line.partition("workflow.json")[2].partition(" (plug-ins")[0] for line in shown.stderr.splitlines()] == [
        ":1 tests_min: ignored; nothing here reads it",
        ":1 action_pairs.g_code.output_type: ignored; nothing here reads it",
        f": {lacking}",
    ]
    ended = replan("run", "-", "-w", str(path), "-m", "rules", input="Login fails with a timeout in src/login.py.")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert lacking in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
