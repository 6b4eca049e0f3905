"""What a result and its tree hold, as the reference says."""

import json

import replan

PROBLEM = "`export_csv()` in `shop/export.py` leaves out the last order whenever the list is longer than one page."


def test_a_result_has_the_winning_path_the_calls_and_the_reason_for_ending():
    """S36: one accepted artifact per step, in the order of the workflow, and a plan that the guard proved."""
    result = replan.solve(PROBLEM, model="template:bug", home=replan.MEMORY)
    assert (result.outcome, result.why, result.calls) == ("success", "every guard passed", 4)
    assert [step.step for step in result.path] == ["g_analysis", "g_recon", "g_strategy", "g_plan"]
    assert result.path[-1].value == result.plan_json


def test_a_result_without_a_plan_has_the_best_path_that_was_validated(tmp_path):
    """S36: three calls get as far as the strategy, which is kept, with why there is no more."""
    result = replan.solve(PROBLEM, model="template:bug", home=tmp_path / "home", max_calls=3)
    assert (result.outcome, result.plan_json, result.calls) == ("budget_exhausted", None, 3)
    assert [step.step for step in result.path] == ["g_analysis", "g_recon", "g_strategy"]
    assert "calls" in result.why


def test_an_object_of_a_result_has_the_keys_of_the_contract():
    """What `--json` prints can be written as JSON and has every key that scripts were promised."""
    result = json.loads(json.dumps(replan.solve(PROBLEM, model="template:bug", home=replan.MEMORY).to_json()))
    promised = ("run_id", "status", "outcome", "calls", "tokens", "cost_usd", "revision", "plan", "path", "findings")
    assert set(promised) <= set(result)
    assert all(set(step) == {"step", "node", "value", "score"} for step in result["path"])
