"""`whatif` from Python: what recorded runs would have done under other rules."""

import pytest
import yaml

import replan
from replan.setup.installation import data_root

GUARD = """
import replan
from replan import Verdict


@replan.guard
def small(artifact, context):
    {body}
    return Verdict(guard="small", passed=True, score=1.0)
"""
PROBLEM = "The export in src/export.py fails with KeyError 'id' in Python 3.12. No new dependency."


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def planned(home):
    result = replan.solve(PROBLEM, model="template:bug", workflow="search", home=home)
    assert result.succeeded
    return result.run_id


def test_an_edited_policy_is_compared_from_python(home, tmp_path):
    run = planned(home)
    [same] = replan.whatif(home=home)
    assert (same.run, same.outcome, same.seq) == (run, replan.FoldOutcome.SAME, None)
    [named] = replan.whatif(run, policy="belief", home=home)
    assert named.outcome is replan.FoldOutcome.SAME
    with pytest.raises(replan.RunNotFound):
        replan.whatif("zzzzzzzz", home=home)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('no such table')", "raises PlugInFailed: guard small: ValueError: no such table"),
        ("while True: pass", "does not end within 2 s"),
    ],
)
def test_a_guard_that_fails_is_the_outcome_of_its_run(body, reason, home, tmp_path):
    """Also in place of the guard that gave the step its prompt."""
    planned(home)
    house = tmp_path / "house.py"
    house.write_text(GUARD.format(body=body), encoding="utf-8")
    [found] = replan.whatif(guards=["g_plan=small"], plugins=[house], time_limit=2.0, home=home)
    assert (found.outcome, found.reason) == (replan.FoldOutcome.FAILED, reason)


def test_another_prompt_is_named_with_the_record_that_needs_a_reply(home, tmp_path):
    planned(home)
    prompts = yaml.safe_load((data_root() / "prompts" / "planning.yaml").read_text(encoding="utf-8"))
    prompts["plan"]["task"] += " Be brief."
    (tmp_path / "prompts.yaml").write_text(yaml.safe_dump(prompts), encoding="utf-8")
    [shown] = replan.runs(home=home)
    name = "search"
    fields = yaml.safe_load((data_root() / "configs" / "workflows" / f"{name}.yaml").read_text(encoding="utf-8"))
    fields["prompts"] = "./prompts.yaml"
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(fields, sort_keys=False), encoding="utf-8")
    [found] = replan.whatif(workflow=path, home=home)
    assert (found.outcome, found.seq > 1) == (replan.FoldOutcome.NEEDS_REPLY, True)
    assert found.to_json()["run_id"] == shown.run_id


def test_recorded_runs_are_folded_in_any_event_loop(in_loop, home):
    async def main():
        assert await replan.awhatif(home=home) == ()
        await replan.asolve(PROBLEM, model="template:bug", home=home)
        return await replan.awhatif(home=home)

    [found] = in_loop(main)
    assert found.outcome is replan.FoldOutcome.SAME


@pytest.mark.parametrize(
    ("options", "place"),
    [({"guards": "small"}, "guards"), ({"plugins": "house.py"}, "plugins"), ({"time_limit": 0.0}, "time_limit")],
)
def test_wrong_options_are_refused_by_name(options, place, home):
    with pytest.raises(replan.UsageProblem) as caught:
        replan.whatif(home=home, **options)
    assert caught.value.place == place
