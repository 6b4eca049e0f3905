"""Forks from Python."""

import pytest

import replan
from tests.cli.samples import LOST, PLAN, PROBLEM, distinct


@pytest.fixture
def spent(scripted, tmp_path):
    """The home and the id of a run that has ended for want of calls."""
    model = scripted({"g_plan": [*distinct(LOST, 2), PLAN]})
    result = replan.solve(PROBLEM, model=model, workflow="single", max_calls=1, home=tmp_path / "home")
    assert result.outcome == "budget_exhausted"
    return tmp_path / "home", result.run_id


def test_a_run_is_forked_and_the_fork_is_driven(in_loop, spent):
    home, run = spent

    async def main():
        fork = await replan.afork(run, max_calls=7, home=home)
        return await replan.aresume(fork, home=home)

    result = in_loop(main)
    assert (result.succeeded, result.calls, result.fork.origin, result.fork.used.calls) == (True, 2, run, 1)
    assert replan.show(replan.fork(run, at=1, home=home), home=home).calls == 0
    assert replan.show(run, home=home).outcome == "budget_exhausted"


def test_the_place_of_an_error_is_the_keyword(spent):
    home, run = spent
    with pytest.raises(replan.UsageProblem) as caught:
        replan.fork(run, at="nowhere", home=home)
    assert caught.value.place == "at"
    with pytest.raises(replan.UsageProblem) as caught:
        replan.fork(run, max_calls=0, home=home)
    assert caught.value.place == "max_calls"
