"""Experiments about executions: simulated on the real machine, the same each time; the tables of the published ones."""

import json
import time

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from replan.cli.app import app
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from replan_lab.experiments.definition import is_about_executions
from replan_lab.experiments.executions import prepare_executions
from replan_lab.experiments.preparation import Installation
from replan_lab.experiments.results import RESULTS
from replan_lab.experiments.runner import run_all
from runtime.core.errors import UsageProblem

COMMITTED = data_root() / "docs" / "experiments"
FILE = COMMITTED / "executions" / "tools.yaml"
SCHEMAS = data_root("replan_lab") / "configs" / "schemas"
TABLES = ("arms", "outcomes", "rules")
SMALL = {
    "kind": "executions",
    "name": "small",
    "description": "Two policies.",
    "task": {"goals": 2, "steps": 2},
    "worlds": [{"name": "calm", "description": "Nothing fails."}],
    "policies": [{"name": "default"}, {"name": "unattended", "questions_max": 0}],
    "seeds": {"first": 1000, "count": 2},
    "baseline": "default",
}


def installation():
    return Installation(registry({}, {}), data_root(), UserConfig(), {}, 0.0)


@pytest.fixture
def prepared(tmp_path):
    def prepared_experiment(**changes):
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump({**SMALL, **changes}))
        return prepare_executions(path, installation())

    return prepared_experiment


def world(**odds):
    return {"name": "calm", "description": "A world.", **odds}


def test_where_nothing_fails_every_goal_is_achieved_with_two_calls_for_each_step(prepared):
    for trial in run_all(prepared(), lambda done, of: None, 1):
        assert (trial.outcome, trial.achieved, trial.reported) == ("success", 2, 2)
        assert (trial.tool_calls, trial.replans, trial.questions) == (8, 0, 0)
        assert trial.seconds == 40.0


def test_where_every_tool_is_broken_the_goals_fail_after_replans_and_questions(prepared):
    experiment = prepared(worlds=[world(broken=1.0)], by_hand=0.0)
    attended, unattended = [experiment.run_trial(position) for position in range(2)]
    assert {attended.outcome, unattended.outcome} == {"goals_failed"}
    assert attended.achieved == unattended.achieved == 0
    assert attended.replans == unattended.replans == 2
    assert attended.questions > unattended.questions == 0


def test_a_person_who_can_do_every_step_achieves_every_goal(prepared):
    policies = [{"name": "default", "questions_max": 100, "replans_max": 0}]
    experiment = prepared(worlds=[world(broken=1.0)], by_hand=1.0, policies=policies)
    trial = experiment.run_trial(0)
    assert (trial.outcome, trial.achieved, trial.questions) == ("success", 2, 4)


def test_lying_tools_and_checks_make_a_run_report_what_does_not_hold(prepared):
    experiment = prepared(worlds=[world(unsuited=1.0, lies=1.0, misses=1.0)])
    trial = experiment.run_trial(0)
    assert (trial.outcome, trial.achieved, trial.reported) == ("success", 0, 2)


def test_a_person_says_truthfully_what_an_interrupted_call_has_done(prepared):
    """After a call that was interrupted behind its work, the step is not done again."""
    experiment = prepared(worlds=[world(transient=0.5, late=1.0, once=1.0)])
    trials = run_all(experiment, lambda done, of: None, 1)
    assert all(trial.achieved == 2 for trial in trials)
    assert any(trial.questions for trial in trials)


def test_a_trial_is_the_same_each_time(prepared):
    experiment = prepared(worlds=[world(fails=0.3, transient=0.2, broken=0.2, once=0.5)])
    first, second = [run_all(experiment, lambda done, of: None, 1) for _ in range(2)]
    assert first == second


def test_every_policy_and_world_of_the_published_experiment_runs_to_an_end_in_a_few_milliseconds():
    experiment = prepare_executions(FILE, installation())
    for setup in experiment.setups:
        setup.trial(999)  # What is computed once for all trials.
    before = time.process_time()
    outcomes = {setup.trial(998).outcome for setup in experiment.setups}
    assert outcomes <= {"success", "goals_failed"}
    assert (time.process_time() - before) / len(experiment.setups) < 0.1


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"baseline": "defalt"}, "there is no policy 'defalt'"),
        ({"worlds": [world(), world()]}, "'calm' is named twice"),
        ({"worlds": [world(breaks=1.0)]}, "unknown key 'breaks'"),
        ({"worlds": [world(fails=1.5)]}, "should be at most 1"),
        ({"policies": [{"name": "default", "policy": "defalt"}]}, "defalt"),
        ({"task": {"goals": 20, "steps": 20}}, "total"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_place(prepared, changes, cause):
    with pytest.raises(UsageProblem, match=cause):
        prepared(**changes)


def test_the_files_say_what_they_are_about():
    assert is_about_executions(FILE)
    assert not is_about_executions(FILE.parents[1] / "quick.yaml")


@pytest.mark.parametrize("path", sorted(FILE.parent.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_published_experiment_is_valid_uses_reporting_seeds_and_has_its_tables(path):
    schema = json.loads((SCHEMAS / "execution_experiment.schema.json").read_text())
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)
    prepared = prepare_executions(path, installation())
    assert prepared.experiment.name == path.stem
    assert prepared.experiment.seeds.first >= 1000
    assert {table.stem for table in (COMMITTED / path.stem).glob("*.csv")} == set(TABLES)


def test_the_command_reproduces_the_committed_tables_of_the_quick_experiment(tmp_path):
    """`make lab` checks all of them."""
    path = FILE.with_name("tools_quick.yaml")
    result = CliRunner().invoke(app, ["lab", "experiment", str(path), "--out", str(tmp_path), "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "retry_only" in result.stdout
    for name in TABLES:
        committed = COMMITTED / "tools_quick" / f"{name}.csv"
        assert (tmp_path / committed.name).read_bytes() == committed.read_bytes(), f"{name}: run `make lab`"
    schema = json.loads((SCHEMAS / "execution_trial.schema.json").read_text())
    for line in (tmp_path / RESULTS).read_text().splitlines()[:20]:
        jsonschema.validate(json.loads(line), schema)


def test_the_command_prints_the_tables_as_json(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({**SMALL, "policies": [{"name": "default"}], "seeds": {"first": 0, "count": 1}}))
    result = CliRunner().invoke(app, ["lab", "experiment", str(path), "--out", str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert set(TABLES) <= set(printed)
    assert printed["arms"][0]["achieved_low"] is None
