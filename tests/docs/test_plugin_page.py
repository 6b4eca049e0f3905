"""The plug-in of `docs/how-to/write-a-plug-in.md`, installed and used as the page says."""

import json
import tomllib

import pytest
import yaml
from click.testing import CliRunner

import replan
from actors.config.model_spec import PluginSpec
from replan.cli import diagnosis
from replan.cli.app import app
from replan.runs.models import make_plugin_model
from replan_server.notifications import SenderEntry
from replan_server.settings import ServerSettings
from replan_server.webhooks.messages import OutgoingMessage
from replan_server.webhooks.sender import by_plugin
from runtime.models.port import Fault, FaultKind, ModelRequest
from tests.cli.samples import PLAN, PROBLEM
from tests.docs.blocks import ROOT, blocks
from tests.support.distributions import install

PAGE = ROOT / "docs" / "how-to" / "write-a-plug-in.md"
CODE, PROJECT, SETTINGS = (block.body for block in blocks(PAGE))
WORKFLOW = "name: mine\naction_pairs:\n  g_plan: {generator: model, guard: plan_medium, prompt: plan_direct}\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Install the page's package, and return the folder of a new home."""
    project = tomllib.loads(PROJECT)["project"]
    install(monkeypatch, tmp_path / "site", project["name"], project["entry-points"], house=CODE)
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def script(tmp_path):
    """Return a function that writes a program for the shell, and returns its path."""

    def write(name, text):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return path

    return write


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def test_the_program_plans_and_the_command_lists_what_waits(home, script, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    (tmp_path / "mine.yaml").write_text(WORKFLOW)
    program = script("writer", f"grep -q 'session store' && cat {tmp_path / 'plan.json'}")
    result = replan.solve(PROBLEM, model=f"program:{program}", workflow=str(tmp_path / "mine.yaml"))
    assert result.succeeded
    shown = run("todo")
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert "todo" in run("help", "more").stdout
    assert "desktop" in diagnosis._describe_plugins()


async def test_a_program_that_fails_is_a_fault_of_the_model(home):
    model = make_plugin_model(PluginSpec("program", "false"), {})
    answer = await model.complete(ModelRequest("r", "g_plan", "", "Plan this", 60.0, 100))
    assert answer == Fault(kind=FaultKind.SERVER_ERROR, message="exit code 1")
    await model.aclose()


async def test_the_sender_runs_its_program_with_the_message(home, script, tmp_path):
    told = tmp_path / "told"
    entry = ServerSettings.model_validate(yaml.safe_load(SETTINGS)).senders["desktop"]
    assert entry.settings == {"command": ["notify-send"]}
    program = script("show", f'echo "$1" > {told}')
    message = OutgoingMessage("msg_1", 1, 0.0, b'{"type": "run.waiting", "data": {"title": "Login fails"}}')
    async with by_plugin("desktop", SenderEntry(settings={"command": [str(program)]})).open() as send:
        assert not (await send(message, 0.0)).problem
    assert told.read_text() == "run.waiting: Login fails\n"
    async with by_plugin("desktop", SenderEntry(settings={"command": ["false"]})).open() as send:
        assert (await send(message, 0.0)).problem.startswith("CalledProcessError")


def test_the_page_has_a_row_for_each_group():
    groups = {group.name for group in diagnosis.PLUGIN_GROUPS} | {"replan.guards", "replan.generators", "replan.kinds"}
    text = PAGE.read_text()
    rows = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}
    assert rows - groups == {"replan.readers", "replan.senders"}, "groups of other plug-ins"
    assert groups <= rows
    assert len(text.split()) <= 350
