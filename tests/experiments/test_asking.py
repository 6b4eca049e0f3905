"""Experiments on models that are not simulated: in journals of their own, so that nothing is paid for twice."""

import json

import pytest

from replan.experiments.asking import RUNS, run_asked
from replan.experiments.results import RESULTS, Store
from replan.runs.engine import Engine
from runtime.core.errors import UsageProblem
from tests.support.openai_server import Answer, serve

PLAN = {
    "plan_id": "p",
    "initial_state": ["a"],
    "goal_state": ["b"],
    "total_retry_budget": 1,
    "steps": [
        {
            "step_id": "s",
            "name": "S",
            "generator": "g",
            "guard": "syntax",
            "retry_budget": 1,
            "preconditions": ["a"],
            "effects": ["b"],
        }
    ],
}
ASKED = {
    "pipelines": [{"name": "single", "workflow": "single"}],
    "searches": None,
    "baseline": "single",
    "seeds": {"first": 0, "count": 3},
}


async def run(ready, folder, environment):
    return await run_asked(ready, Store(folder, ready.header()), lambda done, of: None, environment)


async def test_the_rules_are_tried_like_any_model(prepared, tmp_path):
    ready = prepared(models=["rules"], **ASKED)
    trials = await run(ready, tmp_path / "out", {})
    assert [trial.outcome for trial in trials] == ["success"] * 3
    assert {trial.solved for trial in trials} == {None}
    assert len((tmp_path / "out" / RESULTS).read_bytes().splitlines()) == 3


async def test_simulated_arms_stand_beside_others(prepared, tmp_path):
    ready = prepared(models=["rules", "simulated:base"], **ASKED)
    trials = await run(ready, tmp_path / "out", {})
    assert [trial.arm for trial in trials[:2]] == ["single@rules", "single@base"]
    assert trials[1].cause


async def test_what_a_server_has_answered_is_not_asked_again(prepared, tmp_path):
    with serve(lambda *_: Answer.say(json.dumps(PLAN))) as server:
        known = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.base_url}
        ready = prepared(models=["test-model"], environment=known, **ASKED)
        first = await run(ready, tmp_path / "out", known)
        asked = len(server.seen)
        results = tmp_path / "out" / RESULTS
        whole = results.read_bytes()
        results.write_bytes(whole[: len(whole) // 2])
        assert [trial.key for trial in await run(ready, tmp_path / "out", known)] == [trial.key for trial in first]
        assert len(server.seen) == asked == 3
    assert results.read_bytes() == whole
    assert (tmp_path / "out" / RUNS).is_dir()


async def test_a_trial_that_was_killed_before_its_first_record_is_made_after_all(prepared, tmp_path, monkeypatch):
    class Killed(BaseException):
        """Ends a process at once."""

    async def killed(*_):
        raise Killed

    ready = prepared(models=["rules"], concurrency=1, **ASKED)
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "_drive", killed)
        with pytest.raises(BaseExceptionGroup):
            await run(ready, tmp_path / "out", {})
    assert [trial.outcome for trial in await run(ready, tmp_path / "out", {})] == ["success"] * 3


async def test_a_budget_ends_it_before_a_trial_that_might_need_more(prepared, tmp_path):
    ready = prepared(models=["rules"], budget={"calls": 4}, **ASKED)
    trials = await run(ready, tmp_path / "out", {})
    assert len(trials) < 3
    assert sum(trial.calls for trial in trials) <= 4


async def test_a_provider_that_refuses_ends_it_with_one_line(prepared, tmp_path):
    with serve(lambda *_: Answer.fault(401, "no such key")) as server:
        known = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.base_url}
        ready = prepared(models=["test-model"], environment=known, concurrency=1, **ASKED)
        with pytest.raises(BaseExceptionGroup) as caught:
            await run(ready, tmp_path / "out", known)
    assert caught.group_contains(UsageProblem, match="the provider ended it")
