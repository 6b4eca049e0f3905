"""The preflight check names what is missing, and nothing else. What it cannot tell is a warning."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from actors.tools import preflight
from actors.tools.loader import load_tools
from actors.tools.preflight_rules import needs_of
from tests.execution.stage import plan, step
from tests.tools.calling import ENVIRONMENT

PROGRAM = Path(__file__).with_name("mcp_program.py")
TOOLS = """
    mcp_servers:
      tracker: {{command: [{python}, -I, {program}, {behaviour}], environment: [PATH, TRACKER_TOKEN]}}
    tools:
      build: {{command: [./build.sh], environment: [PATH, DEPLOY_KEY], makes: [dist], disk_mb: {disk}}}
      count:
        python: ./functions.py:count
        parameters: {{path: {{type: path, exists: true, default: orders.csv}}}}
      author: {{model: {{file: notes.md, instructions: Write it., context_files: [dist/report.txt, style.md]}}}}
      create:
        mcp: {{server: tracker, tool: create}}
        parameters: {{title: {{type: string, pattern: ".+"}}}}
      commit: {{command: [git, commit, -m, done]}}
      look: {{human: Look at it.}}
    generators:
      builder: build
      counter: count
      author: author
      filer: {{tool: create, with: {{title: Found}}}}
      committer: commit
      person: look
    guards: {{seen: look}}
"""
PLAN = plan(
    step("a", "start", "built", generator="builder", guard=""),
    step("b", "built", "counted", generator="counter", guard=""),
    step("c", "counted", "written", generator="author", guard="seen"),
    step("d", "written", "filed", generator="filer", guard=""),
    step("e", "filed", "goal", generator="committer", guard=""),
)


class Place:
    """A folder with tools and a workspace in which everything is there."""

    def __init__(self, folder):
        self.folder, self.workspace = folder, folder / "workspace"
        self.environment = {**ENVIRONMENT, "DEPLOY_KEY": "k", "TRACKER_TOKEN": "t"}
        self.workspace.mkdir()
        for name in ("orders.csv", "style.md"):
            (self.workspace / name).write_text("x\n")
        (folder / "build.sh").write_text("#!/bin/sh\n")
        (folder / "build.sh").chmod(0o755)
        (folder / "functions.py").write_text("def count(path):\n    return path\n")
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
            self.git(*words)

    def git(self, *words):
        own = ("git", "-c", "user.name=a", "-c", "user.email=a@localhost")
        subprocess.run([*own, *words], cwd=self.workspace, check=True)

    def load(self, behaviour="good", disk=1):
        filled = TOOLS.format(python=sys.executable, program=PROGRAM, behaviour=behaviour, disk=disk)
        (self.folder / "tools.yaml").write_text(filled.replace("\n    ", "\n"))
        return load_tools(self.folder / "tools.yaml", workspace=self.workspace, environment=self.environment).toolset

    async def compare(self, tools):
        found = await preflight.run_preflight(PLAN, tools, self.workspace, self.environment)
        return {(item.severity == "error", item.where): item.message for item in found}


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


async def test_nothing_is_said_about_a_world_in_which_everything_is_there(place):
    assert await place.compare(place.load()) == {}
    assert not (place.workspace / ".git" / "refs" / "replan").exists()


def _dirty(place):
    (place.workspace / "style.md").write_text("changed\n")


def _without_git(place):
    shutil.rmtree(place.workspace / ".git")


BROKEN = {
    "program": (lambda place: (place.folder / "build.sh").unlink(), (True, "a"), "there is no program"),
    "not executable": (lambda place: (place.folder / "build.sh").chmod(0o644), (True, "a"), "no permission to execute"),
    "function": (lambda place: (place.folder / "functions.py").unlink(), (True, "b"), "there is no file"),
    "changed code": (
        lambda place: (place.folder / "functions.py").write_text("def count(path):\n    return 1\n"),
        (True, "b"),
        "has changed",
    ),
    "file for a model": (
        lambda place: (place.workspace / "style.md").unlink(),
        (False, "c"),
        "there is no 'style.md' in the workspace, unless the step b makes it",
    ),
    "link": (
        lambda place: (
            (place.workspace / "orders.csv").unlink(),
            (place.workspace / "orders.csv").symlink_to("/etc/passwd"),
        ),
        (True, "b"),
        "symbolic link",
    ),
    "changes": (_dirty, (True, "e"), "uncommitted changes: style.md"),
    "repository": (_without_git, (False, "e"), "not the top folder of a git repository"),
    "variable": (lambda place: place.environment.pop("DEPLOY_KEY"), (False, "a"), "DEPLOY_KEY is not set"),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
async def test_each_missing_thing_is_named_and_nothing_else(place, name):
    breaks, where, text = BROKEN[name]
    tools = place.load()
    breaks(place)
    if name in ("file for a model", "link"):  # Else the repository would be dirty, too.
        place.git("commit", "-qam", "x")
    found = await place.compare(tools)
    assert [*found] == [where], found
    assert text in found[where]


async def test_a_path_that_no_earlier_step_can_make_is_missing(place):
    tools = place.load()
    first = plan(step("b", "start", "goal", generator="counter", guard=""))
    (place.workspace / "orders.csv").unlink()
    [finding] = await preflight.run_preflight(first, tools, place.workspace, place.environment)
    assert (finding.code, finding.where) == ("world.lacks", "b")
    assert finding.message == "there is no 'orders.csv' in the workspace"


@pytest.mark.parametrize(
    ("behaviour", "lacks", "text"),
    [
        ("other-tool", True, "lists no tool 'create'"),
        ("other-schema", True, "the server's schema rejects the arguments: 'name' is a required property"),
        ("other-type", True, "the server's schema rejects title"),
        ("gone", False, "the tools of the MCP server 'tracker' cannot be listed"),
    ],
)
async def test_a_server_is_asked_for_its_tools_and_what_they_take(place, behaviour, lacks, text):
    found = await place.compare(place.load(behaviour))
    assert [*found] == [(lacks, "d")], found
    assert text in found[lacks, "d"]


async def test_nobody_can_tell_what_a_server_offers_that_does_not_answer(place, monkeypatch):
    monkeypatch.setattr(preflight, "SERVER_SECONDS", 0.5)
    found = await place.compare(place.load("silent-list"))
    assert found == {(False, "d"): "the tool 'create': the MCP server 'tracker' did not answer within 0.5 s"}


async def test_disk_space_that_tools_declare_and_that_is_not_free_is_missing(place):
    assert "MB are free" in (await place.compare(place.load(disk=1_000_000_000)))[True, ""]


async def test_a_plan_of_persons_needs_nothing_that_can_be_looked_up(place):
    from actors.plans.reader import read_plan

    made = read_plan(plan(step("a", "start", "goal", generator="person", guard="seen")))[0]
    assert needs_of(made, place.load()) is None


async def test_the_value_of_a_token_is_not_compared_before_it_is_known(place):
    tools = place.load("other-type")
    filer = tools.generators["filer"].model_copy(update={"arguments": "{}", "takes": {"title": "found"}})
    tools = tools.model_copy(update={"generators": {**tools.generators, "filer": filer}})
    counter = tools.generators["counter"]
    value = plan(
        step("a", "start", "found", generator="counter", guard=""),
        step("d", "found", "goal", generator="filer", guard=""),
    )
    from actors.tools.output_parsing import ValueSource

    reads = counter.model_copy(update={"values": {"found": ValueSource(after="", pattern=".+")}})
    tools = tools.model_copy(update={"generators": {**tools.generators, "counter": reads}})
    assert await preflight.run_preflight(value, tools, place.workspace, place.environment) == ()


async def test_a_name_that_no_tool_implements_is_named(place):
    value = plan(step("a", "start", "goal", generator="nobody", guard=""))
    [finding] = await preflight.run_preflight(value, place.load(), place.workspace, place.environment)
    assert finding.code == "plan.unbound"
    assert "generator 'nobody'" in finding.message
