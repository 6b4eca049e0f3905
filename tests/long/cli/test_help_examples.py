"""Each example of a help text does what it says, as it stands, in a folder and a home that have what it names."""

import json
import re
import shlex
import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from replan.cli.app import app
from replan.cli.command_table import COMMAND_PLUGINS
from replan.cli.terminal import prompt
from tests.cli.conftest import ROOT, SCRIPT
from tests.cli.samples import ANALYSIS, ASKING, LOST, PLAN, PROBLEM, distinct, write_script
from tests.cli.test_docs import commands
from tests.cli.test_execute import plan as executable

REVIEWED = """\
name: mine
action_pairs:
  g_plan: {generator: model, guard: {all_of: [plan_medium, human_review]}, role: plan}
"""
TOUCH = """\
tools: {touch: {command: [touch, made]}}
generators: {maker: touch}
guards: {dynamic_test: touch}
"""
"""The tools of an execution whose first step waits for an approval."""
STANDS_FOR = {
    "-m gpt-5-mini": "-m template:bug",
    "-m qwen3:8b": "-m template:bug",
    "*.yaml": "strict.yaml",
    "plans/*.json": "plan.json",
    "../main": str(ROOT),
}
"""What stands for a model of a provider, and for what a shell would expand."""
ONLY_READ = (
    r"host|worker|serve|mcp|telemetry|doctor .*--online",  # a server, or one to reach
    r"home (copy|upgrade) .*postgresql:",  # a database
    r"undo|cancel .*--undo",  # an execution, whose undo tests/cli/test_undo.py runs
    r"run --tools|do --goal",  # tools that declare steps, which tests/cli/test_run_goal.py has
    r"fork .*--set",  # a run of a kind that takes values
    r"(do|execute) --example",  # minutes, and run by other tests
)
"""The commands whose options are read, and which are not run."""
CODES = {"resume": {0, 6}, "run": {0, 6}, "do": {0, 6}, "execute": {0, 6}}
"""The exit codes that an example may end with, where 0 is not the only one."""


def examples():
    """Return the command lines of the help texts of the core, each once."""
    return sorted(
        {
            re.split(r" {3,}|  #", line)[0]
            for path, command in commands(app)
            if path[0] not in COMMAND_PLUGINS.names
            for line in re.findall(r"^  (\S.*)$", command.epilog or "", re.MULTILINE)
        }
    )


def call(words, home, text=""):
    return CliRunner().invoke(app, words, input=text, env={"REPLAN_HOME": str(home), "REPLAN_MODEL": "template:bug"})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Make the files that examples name, and homes with a waiting, a reviewed, a lost and a finished run."""
    top = tmp_path_factory.mktemp("examples")
    work = top / "work"
    for name in ("notes", "old", "copy", "../shop", "results"):
        (work / name).mkdir(parents=True)
    search = (ROOT / "configs" / "workflows" / "search.yaml").read_text(encoding="utf-8")
    files = {
        "problem.md": PROBLEM,
        "notes/design.md": "The session store is Redis.",
        "answer.txt": "3.11",
        "plan.json": json.dumps(PLAN),
        "more.jsonl": json.dumps(PLAN) + "\n",
        "my_workflow.yaml": search,
        "tuned.yaml": search,
        "profile.yaml": search,
        "mine.yaml": REVIEWED,
        "strict.yaml": (ROOT / "configs" / "policies" / "default.yaml").read_text(encoding="utf-8"),
    }
    for name, text in files.items():
        (work / name).write_text(text, encoding="utf-8")
    runs = {}
    asking = {**SCRIPT, "g_analysis": [ASKING, ANALYSIS]}
    for name, script, workflow in (
        ("q1", asking, "search"),
        ("q2", {"g_plan": [PLAN]}, work / "mine.yaml"),
        ("lost", {"g_plan": distinct(LOST, 3)}, "single"),
        ("", SCRIPT, "search"),
    ):
        home = top / f"home{name}"
        model = write_script(top, script, f"script{name}.yaml")
        problem = str(work / "problem.md")
        made = call(["run", problem, "-m", model, "-w", str(workflow), "--json", "--no-input"], home)
        runs[name] = json.loads(made.stdout)["run_id"]
        call(["init", str(work)], home)
        (home / "tools.yaml").write_text((home / "tools.yaml").read_text().replace("  person:", "  g: work\n  person:"))
        shutil.copy(home / "tools.yaml", work / "tools.yaml")
    open_questions = call(["questions", "--export"], top / "homeq1").stdout
    (work / "answers.yaml").write_text(re.sub("answer:$", 'answer: "3.11"', open_questions, flags=re.MULTILINE))
    runs["edit"] = executed(top)
    for name in ("copy", "old"):
        shutil.copy(top / "home" / "journal.sqlite3", work / name / "journal.sqlite3")
    return top, runs


def executed(top):
    (top / "touch.yaml").write_text(TOUCH, encoding="utf-8")
    (top / "touch.json").write_text(json.dumps(executable()), encoding="utf-8")
    (top / "touched").mkdir()
    words = ["--tools", str(top / "touch.yaml"), "--workspace", str(top / "touched"), "--no-input", "--json"]
    made = call(["execute", str(top / "touch.json"), "--level", "medium", *words], top / "homeedit")
    assert made.exit_code == 6, made.output
    return json.loads(made.stdout)["run_id"]


def home_for(line, place, scratch):
    """Return a copy of the home whose run the example is about, and the run."""
    top, runs = place
    about = next((name for name in ("q1", "q2") if f"/{name}" in line), "")
    if line.startswith("replan edit"):
        about = "edit"
    if "--draft" in line:
        about = "lost"
    if re.search(r"replan (answer --(last|file)|answer .*/q3|tell|resume|cancel|questions)", line):
        about = "q1"
    shutil.copytree(top / f"home{about}", scratch / "home")
    if "revoke" in line:
        call(["token", "add", "ci"], scratch / "home")
    return scratch / "home", runs[about]


@pytest.mark.parametrize("line", examples())
def test_an_example_of_a_help_text_runs(line, place, tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "REPLAN_MODEL", "REPLAN_JOURNAL"):
        monkeypatch.delenv(name, raising=False)
    home, run = home_for(line, place, tmp_path)
    shutil.copytree(place[0] / "work", tmp_path / "work")
    shutil.copytree(place[0] / "shop", tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(prompt, "may_ask", lambda *, no_input: not no_input)
    monkeypatch.setattr(click, "edit", lambda text, **_: f"{text}# Read.\n")
    text = re.sub("/q[23]", "/q1", line)
    for shown, meant in STANDS_FOR.items():
        text = text.replace(shown, meant)
    text = text.replace("k7m2x9qa", run)
    if nested := re.search(r"\$\((replan .*?)\)", text):
        text = nested[1]
    output = ""
    for part in re.split(r" \| (?=replan|jq|gh|dot|mmdc)| && ", text):
        words = shlex.split(part)
        if words[0] == "replan":
            output = ran(words[1:], home, output)
        elif words[0] == "cat":
            output = Path(words[1]).read_text(encoding="utf-8")
        elif words[0] == "jq":
            values = [
                json.loads(row) for row in (output.splitlines() if re.search("--jsonl| log ", text) else [output])
            ]
            output = json.dumps(values[0]["plan"]) if words[1] == ".plan" else ""
        else:
            assert words[0] in ("gh", "dot", "mmdc")
            assert output


def options_read(words):
    command, rest = app, list(words)
    context = app.make_context("replan", list(words[:1]), resilient_parsing=True)
    while hasattr(command, "commands") or command is app:
        command = command.get_command(context, rest.pop(0))
    command.make_context(words[0], rest)


def ran(words, home, text):
    kept = None
    if ">" in words:
        kept = None if words[words.index(">") + 1].startswith("~") else Path(words[words.index(">") + 1])
        words = words[: words.index(">")]
    if "<" in words:
        text = Path(words[words.index("<") + 1]).read_text(encoding="utf-8")
        words = words[: words.index("<")]
    if any(re.match(pattern, shlex.join(words)) for pattern in ONLY_READ):
        options_read(words)
        return "{}"
    result = call(words, home, text)
    assert result.exit_code in CODES.get(words[0], {0}), (words, result.output)
    if kept is not None:
        kept.write_text(result.stdout, encoding="utf-8")
    return result.stdout
