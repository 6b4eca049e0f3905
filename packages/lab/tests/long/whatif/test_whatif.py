"""`whatif` from Python: what recorded runs would have done under other rules."""

import pytest

import replan
from replan_lab.whatif.differences import FoldOutcome
from replan_lab.whatif.query import awhatif, whatif

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
    [same] = whatif(home=home)
    assert (same.run, same.outcome, same.seq) == (run, FoldOutcome.SAME, None)
    [named] = whatif(run, policy="belief", home=home)
    assert named.outcome is FoldOutcome.SAME
    with pytest.raises(replan.RunNotFound):
        whatif("zzzzzzzz", home=home)


def test_recorded_runs_are_folded_in_any_event_loop(in_loop, home):
    async def main():
        assert await awhatif(home=home) == ()
        await replan.asolve(PROBLEM, model="template:bug", home=home)
        return await awhatif(home=home)

    [found] = in_loop(main)
    assert found.outcome is FoldOutcome.SAME


@pytest.mark.parametrize(
    ("options", "place"),
    [({"guards": "small"}, "guards"), ({"plugins": "house.py"}, "plugins"), ({"time_limit": 0.0}, "time_limit")],
)
def test_wrong_options_are_refused_by_name(options, place, home):
    with pytest.raises(replan.UsageProblem) as caught:
        whatif(home=home, **options)
    assert caught.value.place == place
