"""Experiments on real models keep a journal of their runs, so that no call is paid for twice."""

import json

import pytest

from replan.runs.engine import Engine
from replan_lab.experiments.live_runner import RUNS, run_live
from replan_lab.experiments.results import RESULTS, ResultsFolder
from runtime.core.errors import UsageProblem
from tests.cli.samples import PLAN
from tests.support.openai_server import Answer, serve

ASKED = {
    "pipelines": [{"name": "single", "workflow": "single"}],
    "searches": None,
    "baseline": "single",
    "seeds": {"first": 0, "count": 3},
}


async def run(experiment, folder, environment):
    return await run_live(experiment, ResultsFolder(folder, experiment.header()), lambda done, of: None, environment)


async def test_an_experiment_can_use_the_model_rules(prepared, tmp_path):
    experiment = prepared(models=["template:bug"], **ASKED)
    trials = await run(experiment, tmp_path / "out", {})
    assert [trial.outcome for trial in trials] == ["success"] * 3
    assert {trial.solved for trial in trials} == {None}
    assert len((tmp_path / "out" / RESULTS).read_bytes().splitlines()) == 3


async def test_simulated_and_real_arms_can_be_mixed(prepared, tmp_path):
    experiment = prepared(models=["template:bug", "simulated:base"], **ASKED)
    trials = await run(experiment, tmp_path / "out", {})
    assert [trial.arm for trial in trials[:2]] == ["single@template:bug", "single@base"]
    assert trials[1].cause


async def test_an_answered_call_is_not_repeated(prepared, tmp_path):
    with serve(lambda *_: Answer.say(json.dumps(PLAN))) as server:
        known = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.base_url}
        experiment = prepared(models=["test-model"], environment=known, **ASKED)
        first = await run(experiment, tmp_path / "out", known)
        requests = len(server.seen)
        results = tmp_path / "out" / RESULTS
        whole = results.read_bytes()
        results.write_bytes(whole[: len(whole) // 2])
        assert [trial.key for trial in await run(experiment, tmp_path / "out", known)] == [trial.key for trial in first]
        assert len(server.seen) == requests == 3
    assert results.read_bytes() == whole
    assert (tmp_path / "out" / RUNS).is_dir()


async def test_a_trial_killed_before_its_first_record_is_run_again(prepared, tmp_path, monkeypatch):
    class Killed(BaseException):
        """Ends a process at once."""

    def killed(*_, **__):
        raise Killed

    experiment = prepared(models=["template:bug"], concurrency=1, **ASKED)
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "open_supervisor", killed)
        with pytest.raises(BaseExceptionGroup):
            await run(experiment, tmp_path / "out", {})
    assert [trial.outcome for trial in await run(experiment, tmp_path / "out", {})] == ["success"] * 3


async def test_no_trial_begins_that_may_exceed_the_budget(prepared, tmp_path):
    experiment = prepared(models=["template:bug"], budget={"calls": 4}, **ASKED)
    trials = await run(experiment, tmp_path / "out", {})
    assert len(trials) < 3
    assert sum(trial.calls for trial in trials) <= 4


async def test_a_provider_that_refuses_ends_the_experiment(prepared, tmp_path):
    with serve(lambda *_: Answer.fault(401, "no such key")) as server:
        known = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.base_url}
        experiment = prepared(models=["test-model"], environment=known, concurrency=1, **ASKED)
        with pytest.raises(BaseExceptionGroup) as caught:
            await run(experiment, tmp_path / "out", known)
    assert caught.group_contains(UsageProblem, match="the provider ended the run")
