"""A run goes on as it began, whatever has become of its workflow's files; a line says what differs, once."""

import json
from dataclasses import fields
from functools import partial

import pytest
import trio

from actors.config.loader import shipped_workflows
from actors.planning.config import read_config
from actors.planning.events import RunStarted
from actors.planning.prepare import RunOptions
from actors.planning.workflow_drift import edited
from replan.runs.home import open_home
from replan.runs.hosting import host
from replan.runs.prepare import prepare_run
from replan.setup.data_files import data_root
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
"""The file, what is replaced in it and by what, and what is then said to differ (None: nothing does)."""


@pytest.fixture
def folder(tmp_path):
    """A workflow with a policy, prompts and a workflow below it, all in files of the user's own."""
    configs = data_root() / "configs"
    made = tmp_path / "mine"
    made.mkdir()
    (made / "mine.yaml").write_text(WORKFLOW)
    (made / "policy.yaml").write_text((configs / "policies" / "default.yaml").read_text())
    (made / "prompts.yaml").write_text((data_root() / "prompts" / "planning.yaml").read_text())
    (made / "below.yaml").write_text((configs / "workflows" / "single.yaml").read_text() + "max_total_calls: 30\n")
    return made


@pytest.fixture
def waiting(replan, problem, folder, scripted, monkeypatch):
    """Start a run that asks a question, from the folder itself and with the options given; return its id."""

    def start(*options, workflow="./mine.yaml"):
        monkeypatch.chdir(folder)
        model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
        done = replan("run", problem, "-m", model, "-w", workflow, "--json", "--no-input", *options)
        assert done.exit_code == 6, done.output
        monkeypatch.chdir("/")
        return json.loads(done.stdout)["run_id"]

    return start


def resumed(replan, run, *options):
    """Answer the run's question, resume it, check that it brings the plan, and return what it says on stderr."""
    assert replan("answer", f"{run}/q1", "3.12").exit_code == 0
    done = replan("resume", run, *options)
    assert done.exit_code == 0, done.output
    return [row for row in done.stderr.splitlines() if "as it began" in row]


@pytest.mark.parametrize("edit", EDITS)
def test_what_was_edited_is_named_and_the_run_goes_on_as_it_began(replan, folder, waiting, edit):
    run = waiting()
    name, old, new, named = EDITS[edit]
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))
    told = f"replan: the run goes on as it began, though its workflow {folder / 'mine.yaml'} differs now: {named}"
    assert resumed(replan, run, "--json") == ([] if named is None else [told])


@pytest.mark.parametrize(("content", "named"), [("junk: 1\n", "unknown key 'junk'"), (None, "no such file")])
def test_a_workflow_that_is_broken_or_gone_stops_nobody(replan, folder, waiting, content, named):
    run = waiting()
    if content is None:
        (folder / "mine.yaml").unlink()
    else:
        (folder / "mine.yaml").write_text(WORKFLOW + content)
    (told,) = resumed(replan, run)
    assert told.startswith(
        f"replan: the run goes on as it began, though its workflow cannot be read now: {folder / 'mine.yaml'}"
    )
    assert named in told


def test_a_host_says_so_once_of_a_run_that_it_takes_up(replan, folder, waiting):
    """It takes the run up with each of two notes and with the answer, and each time it could say it."""
    run = waiting()
    (folder / "mine.yaml").write_text(WORKFLOW.replace("rmax: 2", "rmax: 3"))
    told = trio.run(hosted, run)
    line = f"the run goes on as it began, though its workflow {folder / 'mine.yaml'} differs now: rmax"
    assert told == [
        ("taken_up",),
        ("edited", line),
        ("waiting", "q1"),
        *[("taken_up",), ("waiting", "q1")],
        *[("taken_up",), ("finished", "success")],
    ]


async def hosted(run):
    """Have a host take a run up with two notes and an answer; return what it tells."""
    told, stop = [], Stop(handover=True)

    def report(notice):
        told.append((notice.event, *[getattr(notice, field.name) for field in fields(notice) if field.name != "run"]))

    async def until(event, times=1):
        while [one for one, *_ in told].count(event) < times:  # noqa: ASYNC110 -- a host rings for nobody
            await trio.sleep(0.01)

    async with open_home() as engine, trio.open_nursery() as nursery:
        nursery.start_soon(partial(host, engine, runs_max=1, stop=stop, report=report))
        await until("ready")
        await engine.tell(run, "It is urgent.")
        await until("waiting")
        await engine.tell(run, "It is very urgent.")
        await until("waiting", 2)
        await engine.answer(f"{run}/q1", "3.12")
        await until("finished")
        stop.requested.set()
    return told[1:]


def test_what_was_given_on_the_command_line_is_no_difference(replan, folder, waiting):
    (folder / "mine.yaml").write_text(f"{WORKFLOW}search: blind\n")
    run = waiting("--max-calls", "8", "--search", "depth_first")
    assert resumed(replan, run) == []


def test_an_edit_beside_what_was_given_is_one(replan, folder, waiting):
    run = waiting("--max-calls", "8")
    text = WORKFLOW.replace("max_total_calls: 9", "max_total_calls: 7").replace("rmax: 2", "rmax: 1")
    (folder / "mine.yaml").write_text(text)
    (told,) = resumed(replan, run)
    assert told.endswith(" differs now: rmax")


@pytest.mark.parametrize("name", shipped_workflows(data_root()))
def test_a_shipped_workflow_that_is_the_same_is_no_difference(name):
    """Storing and reading it changes nothing. In another release it is elsewhere, so it is known by its name."""
    choice, config, known = choose_model("rules", {}, UserConfig()), UserConfig(), registry()
    job = prepare_run(
        "It fails.", RunOptions(name), choice, config=config, registry=known, root=data_root(), environment={}, now=1.0
    )
    pinned = job.pinned.model_dump_json()
    begun = RunStarted(at=1.0, run="r", specification="p", pinned=pinned, limits=job.limits, source=job.source)
    assert begun.source == name
    assert edited(begun, read_config(pinned), known, data_root()) == ""


def test_a_run_of_an_earlier_release_is_not_compared():
    """It does not say where its workflow was."""
    begun = RunStarted(at=1.0, run="r", specification="p", pinned="", limits=Limits())
    assert edited(begun, toy({"a": {}}), registry(), data_root()) == ""


def test_a_finished_run_is_printed_without_a_word(replan, folder, waiting):
    run = waiting()
    resumed(replan, run)
    (folder / "mine.yaml").unlink()
    assert "as it began" not in replan("resume", run).stderr
