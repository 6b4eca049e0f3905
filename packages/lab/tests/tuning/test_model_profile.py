"""The profile of a model: the fit recovers the odds that made the records, and the settings that do best are named."""

import json
from collections import Counter

import pytest

from actors.config.loader import read_workflow
from actors.config.model_profiles import ModelProfile, read_profile
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from replan_lab.experiments.preparation import Installation, prepare
from replan_lab.experiments.runner import run_all
from replan_lab.tuning import model_profile
from replan_lab.tuning.model_profile import (
    PLANS_MIN,
    SETTINGS,
    TASKS,
    TASKS_MAX,
    AttemptsUntilPlan,
    Measures,
    StepMeasure,
    choose_settings,
    comparison_definition,
    divide_calls,
    first_tasks,
    fit_profile,
    measurement_definition,
    workflow_text,
    write_definition,
    write_profile,
)
from runtime.core.errors import UsageProblem

ROOT = data_root()


def measures_of(*records, form_errors=0):
    """Return measures with these records: (attempts, accepted, number of runs)."""
    plans = tuple(AttemptsUntilPlan(attempts, accepted) for attempts, accepted, count in records for _ in range(count))
    return Measures((StepMeasure("g_plan", attempts=99, form_errors=form_errors),), plans)


def test_the_tasks_are_sixty_readable_problems_of_five_categories():
    rows = [json.loads(line) for line in (data_root("replan_lab") / TASKS).read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len({row["problem"] for row in rows}) == TASKS_MAX
    assert set(Counter(row["category"] for row in rows).values()) == {12}


def test_fewer_tasks_are_spread_over_all_categories(tmp_path):
    path = first_tasks(tmp_path / "new", 10)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert sorted(Counter(row["category"] for row in rows).values()) == [2, 2, 2, 2, 2]
    assert first_tasks(tmp_path, TASKS_MAX) == data_root("replan_lab") / TASKS


def test_feedback_that_helps_has_a_factor_above_one_and_useless_feedback_has_not():
    # 20 % at once; told once, most of the others are right. Then: none is right after any finding.
    helps = fit_profile(measures_of((1, True, 12), (2, True, 40), (3, True, 4), (4, False, 4)))
    useless = fit_profile(measures_of((1, True, 30), (6, False, 30)))
    assert helps.first[1] > 2
    assert useless.first[0] < 1
    assert len(helps.worlds) == model_profile.WORLDS


def test_form_errors_are_the_share_of_malformed_replies_of_the_fitted_author():
    fit = fit_profile(measures_of((1, True, 30), (2, False, 30), form_errors=10))
    assert fit.malformed == 10.5 / 100
    assert "malformed: 0.105\n" in fit.profiles()["fitted_01"]


def test_too_few_judged_plans_are_no_fit():
    with pytest.raises(UsageProblem, match=f"needs {PLANS_MIN}"):
        fit_profile(measures_of((1, True, PLANS_MIN - 1)))


def test_a_limit_of_calls_is_shared_by_the_tasks_and_one_that_is_too_small_is_refused():
    assert (divide_calls(None, 60), divide_calls(6000, 60), divide_calls(480, 60)) == (12, 12, 8)
    with pytest.raises(UsageProblem) as caught:
        divide_calls(100, 60)
    assert (caught.value.place, caught.value.hint) == ("--max-calls", "allow as many calls, or use --tasks 16")


@pytest.mark.parametrize(
    ("records", "policies"),
    [
        ([(1, True, 58), (2, True, 2)], {settings.policy for settings in SETTINGS}),
        ([(1, True, 6), (8, False, 54)], {"default", "belief"}),
    ],
)
def test_the_preferred_settings_do_best_and_are_a_workflow_that_loads(tmp_path, monkeypatch, records, policies):
    monkeypatch.setattr(model_profile, "WORLDS", 2)
    tasks = first_tasks(tmp_path, 10)
    fit = fit_profile(measures_of(*records))
    installation = Installation(registry({}, {}), ROOT, UserConfig(), {}, 0.0)
    prepared = prepare(write_definition(tmp_path, comparison_definition(tasks, fit), fit), installation)
    trials = run_all(prepared, lambda done, of: None, 1)
    found = choose_settings(prepared, trials)
    assert found.settings.policy in policies
    assert found.ahead >= 0
    assert 0 <= found.worlds <= 2
    path = tmp_path / "mine.yaml"
    path.write_text(workflow_text(found, ROOT, {}), encoding="utf-8")
    loaded = read_workflow(str(path), ROOT)[0]
    assert loaded.max_total_calls == found.cap
    assert loaded.action_pairs["g_plan"].rmax == found.settings.visits


def test_the_definition_that_measures_keeps_to_the_limits(tmp_path):
    value = measurement_definition(data_root("replan_lab") / TASKS, "simulated:base", 480, 2.5, 60, keys={})
    installation = Installation(registry({}, {}), ROOT, UserConfig(), {}, 0.0)
    prepared = prepare(write_definition(tmp_path, value), installation)
    assert (len(prepared.trials), prepared.arms[0].calls_max) == (60, 8)
    assert (prepared.experiment.budget.calls, prepared.experiment.budget.usd) == (480, 2.5)


def test_a_profile_is_read_as_it_was_written_and_replaces_that_of_the_same_model(tmp_path):
    path = tmp_path / "model_profiles.yaml"
    counted = ModelProfile(runs=60, accepted=30, told=20, mended=10, again=2, date="2026-11-29")
    assert read_profile("qwen3:8b", path) is None
    write_profile("other", counted, path)
    write_profile("qwen3:8b", counted.model_copy(update={"runs": 40}), path)
    write_profile("qwen3:8b", counted, path)
    assert read_profile("qwen3:8b", path) == read_profile("other", path) == counted
