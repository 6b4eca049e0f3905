"""`whatif` from Python: what recorded runs would have done under other rules."""

import pytest

import replan

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
