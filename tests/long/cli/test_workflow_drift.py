"""A resumed run keeps its pinned workflow; one line reports how the workflow's files differ now."""

import json
from dataclasses import fields
from functools import partial

import pytest
import trio

from actors.config.loader import shipped_workflows
from actors.planning.config import read_config
from actors.planning.events import RunStarted
from actors.planning.prepare import PlanningInput, RunOptions, describe_edits
from replan.runs.home import open_home
from replan.runs.hosting import host
from replan.runs.prepare import RunOrder, prepare
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig, choose_model
from runtime.core.ledger import Limits
from runtime.drive.options import Stop
from tests.cli.samples import ANALYSIS, ASKING, PLAN
from tests.support.worlds import pinned as toy

WORKFLOW = """\
name: mine
policy: ./policy.yaml
prompts: ./prompts.yaml
rmax: 2
max_total_calls: 9
action_pairs:
  g_analysis: {generator: LLMJsonGenerator, guard: analysis_valid, role: analysis}
  g_below: {generator: "workflow:./below.yaml", guard: plan_medium, requires: [g_analysis]}
"""

STEPS = WORKFLOW.partition("action_pairs:\n")[2]
LESS, *_, LAST = STEPS.splitlines(keepends=True)
MORE = LESS.replace("g_analysis", "g_more")
KEYS = "questions_max: 1\nr_patience: 4\ne_max: 7\nrmax: 4\noutput_tokens_max: 9\nmodel_timeout_seconds: 9\n"
NAMED = "rmax, r_patience, e_max, questions_max, model_timeout_seconds, 1 more"

EDITS = {
    "a key": ("mine.yaml", "rmax: 2", "rmax: 3", "rmax"),
    "a key more": ("mine.yaml", "rmax: 2", "rmax: 2\ne_max: 7", "e_max"),
    "a step": ("mine.yaml", "role: analysis}", "role: analysis, rmax: 4}", "action_pairs.g_analysis"),
    "several": ("mine.yaml", "rmax: 2\nmax_total_calls: 9", "rmax: 3\nmax_total_calls: 8", "rmax, max_total_calls"),
    "more than are named": ("mine.yaml", "rmax: 2\n", KEYS, NAMED),
    "a step more": ("mine.yaml", STEPS, STEPS + MORE, "action_pairs"),
    "a step less": ("mine.yaml", STEPS, LESS, "action_pairs"),
    "the order of the steps": ("mine.yaml", STEPS, LAST + LESS, "action_pairs"),
    "the policy": ("policy.yaml", "description:", "description: Not the old one.\n# ", "policy"),
    "the prompts": ("prompts.yaml", "\nanalysis:\n  role: ", "\nanalysis:\n  role: Hello. ", "prompts"),
    "a comment": ("prompts.yaml", "\nsections:", "\n# Headings.\nsections:", None),
    "nothing": ("mine.yaml", "", "", None),
    "a workflow below": ("below.yaml", "max_total_calls: 30", "max_total_calls: 12", "workflow:./below.yaml"),
}
"""The edited file, the old text, the new text, and the differences that are reported (None: none)."""


@pytest.fixture
def folder(tmp_path):
    """A folder with a workflow, its policy, its prompts and its child workflow."""
    configs = data_root() / "configs"
    root = tmp_path / "mine"
    root.mkdir()
    (root / "mine.yaml").write_text(WORKFLOW)
    (root / "policy.yaml").write_text((configs / "policies" / "default.yaml").read_text())
    (root / "prompts.yaml").write_text((data_root() / "prompts" / "planning.yaml").read_text())
    (root / "below.yaml").write_text((configs / "workflows" / "single.yaml").read_text() + "max_total_calls: 30\n")
    return root


@pytest.fixture
def waiting(replan, problem, folder, scripted, monkeypatch):
    """Return a function that starts a run in that folder, which asks a question; it returns the run's id."""

    def start(*options, workflow="./mine.yaml"):
        monkeypatch.chdir(folder)
        model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
        result = replan("run", problem, "-m", model, "-w", workflow, "--json", "--no-input", *options)
        assert result.exit_code == 6, result.output
        monkeypatch.chdir("/")
        return json.loads(result.stdout)["run_id"]

    return start


def resumed(replan, run, *options):
    """Answer the run's question, resume it to its plan, and return the lines about differences."""
    assert replan("answer", f"{run}/q1", "3.12").exit_code == 0
    result = replan("resume", run, *options)
    assert result.exit_code == 0, result.output
    return [row for row in result.stderr.splitlines() if "that it started with" in row]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_reported_and_the_run_keeps_its_workflow(replan, folder, waiting, edit):
    run = waiting()
    name, old, new, named = EDITS[edit]
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))
    kept = "replan: the run keeps the workflow that it started with"
    line = f"{kept}; {folder / 'mine.yaml'} has changed since: {named}"
    assert resumed(replan, run, "--json") == ([] if named is None else [line])


@pytest.mark.parametrize(("content", "named"), [("junk: 1\n", "unknown key 'junk'"), (None, "no such file")])
def test_a_broken_or_missing_workflow_does_not_stop_a_resume(replan, folder, waiting, content, named):
    run = waiting()
    if content is None:
        (folder / "mine.yaml").unlink()
    else:
        (folder / "mine.yaml").write_text(WORKFLOW + content)
    (line,) = resumed(replan, run)
    assert line.startswith(
        "replan: the run keeps the workflow that it started with, because the file cannot be read: "
        f"{folder / 'mine.yaml'}"
    )
    assert named in line


def test_a_host_reports_an_edit_once_per_run(replan, folder, waiting):
    """It takes the run up three times: for each of two notes, and for the answer."""
    run = waiting()
    (folder / "mine.yaml").write_text(WORKFLOW.replace("rmax: 2", "rmax: 3"))
    notices = trio.run(serve_with_messages, run)
    line = f"the run keeps the workflow that it started with; {folder / 'mine.yaml'} has changed since: rmax"
    assert notices == [
        ("taken_up",),
        ("edited", line),
        ("waiting", "q1"),
        *[("taken_up",), ("waiting", "q1")],
        *[("taken_up",), ("finished", "success")],
    ]


async def serve_with_messages(run):
    """Serve a run with a host while two notes and an answer are posted; return the notices."""
    notices, stop = [], Stop(handover=True)

    def report(notice):
        values = [getattr(notice, field.name) for field in fields(notice) if field.name != "run"]
        notices.append((notice.event, *values))

    async def until(event, times=1):
        while [name for name, *_ in notices].count(event) < times:  # noqa: ASYNC110 -- a host sends no event
            await trio.sleep(0.01)

    async with open_home() as engine, trio.open_nursery() as nursery:
        nursery.start_soon(partial(host, engine, runs_max=1, stop=stop, report=report))
        await until("ready")
        await engine.tell(run, "It is urgent.")
        await until("waiting")
        await engine.tell(run, "It is very urgent.")
        await until("waiting", 2)
        await engine.answer(f"{run}/q1", "3.12", via="cli")
        await until("finished")
        stop.requested.set()
    return notices[1:]


def test_command_line_options_are_not_reported(replan, folder, waiting):
    (folder / "mine.yaml").write_text(f"{WORKFLOW}search: blind\n")
    run = waiting("--max-calls", "8", "--search", "depth_first")
    assert resumed(replan, run) == []


def test_an_edit_of_another_key_than_an_option_is_reported(replan, folder, waiting):
    run = waiting("--max-calls", "8")
    text = WORKFLOW.replace("max_total_calls: 9", "max_total_calls: 7").replace("rmax: 2", "rmax: 1")
    (folder / "mine.yaml").write_text(text)
    (line,) = resumed(replan, run)
    assert line.endswith(" has changed since: rmax")


@pytest.mark.parametrize("name", shipped_workflows(data_root()))
def test_an_unchanged_shipped_workflow_is_not_reported(name):
    """It survives storing and reading. Its source is its name, since its path changes with the release."""
    choice, config, known = choose_model("template:bug", {}, UserConfig()), UserConfig(), registry()
    job = prepare(
        RunOrder(PlanningInput("It fails.", RunOptions(name)), choice.text),
        config=config,
        registry=known,
        environment={},
        now=1.0,
    ).request
    pinned = job.pinned.model_dump_json()
    begun = RunStarted(at=1.0, run="r", specification="p", pinned=pinned, limits=job.limits, source=job.source)
    assert begun.source == name
    assert describe_edits(begun, read_config(pinned), known, data_root()) == ""


def test_a_run_of_an_earlier_release_is_not_compared():
    """Its first event has no source of the workflow."""
    begun = RunStarted(at=1.0, run="r", specification="p", pinned="", limits=Limits())
    assert describe_edits(begun, toy({"a": {}}), registry(), data_root()) == ""


def test_a_finished_run_is_not_compared(replan, folder, waiting):
    run = waiting()
    resumed(replan, run)
    (folder / "mine.yaml").unlink()
    assert "that it started with" not in replan("resume", run).stderr
