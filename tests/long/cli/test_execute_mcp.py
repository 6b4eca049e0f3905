"""`execute` with a tool of an MCP server: it is used in an execution, shown before, and its failures are the plan's."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.test_execute import plan

PROGRAM = Path(__file__).parents[2] / "tools" / "mcp_program.py"

TOOLS = """
mcp_servers:
  tracker:
    command: {words}
    environment: [PATH]
tools:
  ticket:
    mcp: {{server: tracker, tool: create, arguments: {{title: Fix it, count: 1}}}}
    risk: none
    output_bytes: 2000
    timeout_seconds: 20
generators: {{maker: ticket}}
guards: {{dynamic_test: ticket}}
"""


@pytest.fixture
def execute(replan, tmp_path):
    """Return a function that executes a plan with a server that behaves in some way."""

    def run(behaviour, *options):
        words = json.dumps([sys.executable, "-I", str(PROGRAM), behaviour])
        (tmp_path / "tools.yaml").write_text(TOOLS.format(words=words))
        (tmp_path / "work").mkdir(exist_ok=True)
        (tmp_path / "plan.json").write_text(json.dumps(plan(retry_budget=1)))
        files = (tmp_path / "plan.json", "--tools", tmp_path / "tools.yaml", "--workspace", tmp_path / "work")
        return replan("execute", *files, "-m", "template:bug", "--no-input", *options)

    return run


def test_a_tool_of_an_mcp_server_is_used_in_an_execution(execute, replan):
    result = execute("good", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["outcome"] == "success"
    outputs = [
        record["output"]
        for record in map(json.loads, replan("log", told["run_id"], "--json").stdout.splitlines())
        if record["kind"] == "tool_finished" and "title" in record["output"]
    ]
    assert [json.loads(output) for output in outputs] == [{"count": 1, "title": "Fix it"}] * 2


def test_a_dry_run_shows_the_server_and_its_tool_and_starts_nothing(execute):
    result = execute("gone", "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert "ticket: create of the MCP server tracker" in result.stdout


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [("failed", "step.failed: the tool 'ticket' failed"), ("unknown", "tool.permanent")],
)
def test_a_failure_that_a_server_tells_is_one_of_the_step(execute, replan, behaviour, code):
    result = execute(behaviour, "--json")
    assert result.exit_code in (3, 6), result.stderr
    story = replan("show", json.loads(result.stdout)["run_id"]).stdout
    assert code in story, story


def test_a_schema_that_refuses_the_arguments_is_told_before_the_first_step(execute, replan):
    result = execute("other-schema", "--json")
    assert result.exit_code == 6, result.stderr
    told = json.loads(result.stdout)
    assert "schema rejects the arguments: 'name' is a required property" in told["question"]["shown"]
    called = [
        record["tool"]
        for record in map(json.loads, replan("log", told["run_id"], "--json").stdout.splitlines())
        if record["kind"] == "tool_requested"
    ]
    assert called == ["workspace:snapshot", "workspace:look"]


@pytest.mark.parametrize("behaviour", ["die", "flood"])
def test_a_call_that_breaks_off_and_may_not_be_repeated_is_a_question_to_a_person(execute, replan, behaviour):
    result = execute(behaviour, "--json")
    assert result.exit_code == 6, result.stderr
    told = json.loads(result.stdout)
    assert "may have done its work" in told["question"]["about"]
    assert replan("answer", told["question"]["id"], "it ran and succeeded").exit_code == 0


def test_the_doctor_checks_the_tools_file_of_the_home(replan, home):
    words = json.dumps([sys.executable, "-I", str(PROGRAM), "gone"])
    home.mkdir(mode=0o700, exist_ok=True)
    assert tools_of(replan) == (f"none ({home / 'tools.yaml'})", True)
    (home / "tools.yaml").write_text(TOOLS.format(words=words))
    assert tools_of(replan) == (f"{home / 'tools.yaml'}: 1 tool, with tools of the MCP servers tracker", True)
    (home / "tools.yaml").write_text(TOOLS.format(words="[nobody-has-this-program]"))
    found, ok = tools_of(replan)
    assert not ok
    assert "mcp_servers.tracker.command" in found


def tools_of(replan):
    """Return what the doctor says of the tools, and whether it is right."""
    checks = json.loads(replan("doctor", "--json").stdout)["checks"]
    return next((check["found"], check["ok"]) for check in checks if check["name"] == "tools")
