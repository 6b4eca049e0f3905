"""A race: the order and the halves against values computed by hand, its rungs, and its limit."""

import json
from dataclasses import replace

import pytest
import trio

from replan.setup.installation import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from replan_lab.experiments.equal_calls import Curve
from replan_lab.experiments.live_runner import run_live
from replan_lab.experiments.preparation import Installation
from replan_lab.experiments.results import CUT_SHORT, Trial
from replan_lab.experiments.runner import run_simulated
from replan_lab.tuning.race import (
    EntrantStanding,
    Race,
    RaceOrder,
    common_pairs,
    difference,
    entrants,
    rungs_left,
    standings,
    survivors,
)
from runtime.core.errors import UsageProblem
from tests.cli.samples import PLAN
from tests.support.openai_server import Answer, serve

ROOT = data_root()
PROBLEM = str(ROOT / "configs" / "problems" / "login_timeout.md")
PRICE = {"test-model": {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 1.0}}


def installed(environment=None, **config):
    return Installation(registry({}, {}), ROOT, UserConfig(**config), environment or {}, 0.0)


def simulated(prepared, store):
    return run_simulated(prepared, store, lambda done, of: None, 1)


def order_of(tmp_path, **changes):
    values = {
        "problems": (PROBLEM,),
        "model": "simulated:base",
        "calls": 240,
        "usd": None,
        "caps": (5, 10),
        "folder": tmp_path / "race",
        "concurrency": 2,
    }
    return RaceOrder(**{**values, **changes})


def raced(order, workflows=("single", "option_ad", "search"), run=simulated, installation=None, notices=None):
    race = Race(order, entrants(workflows, ("default",), ROOT))
    race.run(installation or installed(), run, (notices if notices is not None else []).append)
    return race


def test_the_better_half_stays_and_every_trial_is_paired(tmp_path):
    ran = []

    def run(prepared, store):
        ran.append([arm.name for arm in prepared.arms])
        return simulated(prepared, store)

    race = raced(order_of(tmp_path), run=run)
    assert [len(names) for names in ran] == [3, 2]
    assert set(ran[1]) < set(ran[0])
    assert race.rungs == 2
    assert not race.stopped
    assert {row.trials for row in race.rows} == {race.rows[0].trials}
    assert {row.entrant for row in race.dropped} == set(ran[0]) - set(ran[1])
    assert race.winner == race.rows[0]
    assert race.runner_up is not None


@pytest.mark.parametrize("calls", [60, 200])
def test_a_race_never_uses_more_calls_than_allowed(tmp_path, calls):
    race = raced(order_of(tmp_path, calls=calls))
    assert 0 < race.calls <= calls


def test_a_limit_that_allows_no_trial_of_each_is_refused_before_the_first_call(tmp_path):
    with pytest.raises(UsageProblem, match="may need 30 calls in each rung") as raised:
        raced(order_of(tmp_path, calls=59), run=None)
    assert raised.value.hint == "allow at least 60 calls, or use fewer or smaller values of --cap"
    assert raced(order_of(tmp_path, calls=60)).winner is not None


def test_an_interrupted_race_goes_on_and_comes_to_the_same(tmp_path):
    order = order_of(tmp_path)
    whole = raced(replace(order, folder=tmp_path / "whole"))

    def interrupted(prepared, store):
        done = simulated(prepared, store)
        if prepared.experiment.name == "rung_2":
            raise KeyboardInterrupt
        return done

    with pytest.raises(KeyboardInterrupt):
        raced(order, run=interrupted)
    again = raced(order)
    assert (again.rows, again.dropped, again.calls) == (whole.rows, whole.dropped, whole.calls)


def test_one_entrant_races_its_caps_alone(tmp_path):
    race = raced(order_of(tmp_path), workflows=("single",))
    assert (race.rungs, race.runner_up) == (1, None)
    assert [row.cap for row in race.rows] == [5, 10]


def test_what_cannot_run_is_named_and_left_out(tmp_path):
    path = tmp_path / "patient.yaml"
    pairs = {"g_plan": {"generator": "LLMPlanGenerator", "guard": "plan_medium"}}
    path.write_text(json.dumps({"name": "patient", "r_patience": 3, "action_pairs": pairs}))
    notices = []
    race = Race(order_of(tmp_path, calls=200), entrants(("single", str(path)), ("default", "belief"), ROOT))
    race.run(installed(), simulated, notices.append)
    assert len(notices) == 1
    assert "left out: patient-belief: patient-belief.yaml:2" in notices[0]
    assert "r_patience" in notices[0]


def test_a_search_that_divides_its_calls_is_tried_with_each_cap(tmp_path):
    path = tmp_path / "wide.yaml"
    pairs = {"g_plan": {"generator": "LLMPlanGenerator", "guard": "plan_medium"}}
    path.write_text(json.dumps({"name": "wide", "search": "best_of:2", "action_pairs": pairs}))
    race = raced(order_of(tmp_path, calls=400), workflows=("single", str(path)), notices=(said := []))
    assert said == []
    assert set(race.curves["wide-default"].by_cap) == {5, 10}
    assert set(race.curves["single-default"].by_cap) == {10}
    assert len({row.trials for row in race.rows}) == 1


def test_money_is_never_overspent_and_the_trial_that_is_cut_short_does_not_count(tmp_path):
    usage = {"prompt_tokens": 3000, "completion_tokens": 1000, "total_tokens": 4000}
    with serve(lambda *_: Answer.say(json.dumps(PLAN), usage=usage)) as server:
        known = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.base_url}
        seen = []

        def run(prepared, store):
            trials = trio.run(run_live, prepared, store, lambda done, of: None, known)
            seen.extend(trial.outcome for trial in trials)
            return trials

        order = order_of(tmp_path, model="test-model", calls=None, usd=0.03, caps=(3,))
        race = raced(order, ("single",), run, installed(known, prices=PRICE))
    assert seen[-1] == CUT_SHORT
    assert set(seen[:-1]) == {"success"}
    assert 0 < race.micro_usd <= 30_000
    assert race.winner.trials == len(seen) - 1


def test_money_needs_a_known_price(tmp_path):
    known = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    with pytest.raises(UsageProblem, match="price of 'test-model' is not known"):
        raced(order_of(tmp_path, model="test-model", calls=None, usd=1.0), run=None, installation=installed(known))


@pytest.mark.parametrize("limits", [{"calls": None}, {"calls": None, "usd": 1.0}])
def test_a_race_without_a_limit_that_holds_is_refused(tmp_path, limits):
    with pytest.raises(UsageProblem):
        raced(order_of(tmp_path, **limits), run=None)


def curve(arm, *results, cap=10):
    """Return the curve of an entrant whose trials took so many calls; a negative number is a failure."""
    fixed = {"arm": arm, "problem": "p", "outcome": "any", "tokens": 0, "micro_usd": 0, "seconds": 0.0}
    trials = {
        ("p", seed): Trial(**fixed, seed=seed, calls=abs(calls), passed=calls > 0) for seed, calls in enumerate(results)
    }
    return Curve(arm, "simulated:base", {cap: trials})


def test_most_successes_come_first_then_the_fewest_calls_then_the_smaller_cap():
    good, frugal, bad = curve("good", 6, 6, 6, -10), curve("frugal", 4, 4, 4, -10), curve("bad", 2, 2, -10, -10)
    rows = standings([good, frugal, bad], [10, 5])
    assert [(row.entrant, row.cap, row.successes) for row in rows] == [
        ("frugal", 5, 3),  # (4 + 4 + 4 + 5) / 4 calls
        ("frugal", 10, 3),  # (4 + 4 + 4 + 10) / 4 calls
        ("good", 10, 3),
        ("bad", 5, 2),
        ("bad", 10, 2),
        ("good", 5, 0),
    ]
    assert [row.calls_mean for row in rows[:3]] == [4.25, 5.5, 7.0]


def test_a_larger_cap_wins_only_with_more_successes_and_only_common_pairs_count():
    rows = standings([curve("only", 1, 2, 3)], [3, 10])
    assert [(row.cap, row.successes) for row in rows] == [(3, 3), (10, 3)]
    longer, shorter = curve("longer", 1, 1, 1, 1), curve("shorter", 1, -9)
    assert common_pairs([longer, shorter]) == [("p", 0), ("p", 1)]
    assert [(row.trials, row.successes) for row in standings([longer, shorter], [10])] == [(2, 2), (2, 1)]
    assert standings([curve("one", 1), curve("none")], [10]) == []
    assert standings([], [10]) == []


@pytest.mark.parametrize(("count", "left"), [(1, 1), (2, 1), (3, 2), (5, 3), (6, 3)])
def test_the_better_half_stays_rounded_up(count, left):
    rows = [EntrantStanding(f"e{number}", cap, 4, 4, 1.0) for number in range(count) for cap in (5, 10)]
    assert survivors(rows) == [f"e{number}" for number in range(left)]


@pytest.mark.parametrize("count", range(1, 40))
def test_the_rungs_halve_down_to_one(count):
    left, rungs = count, 0
    while left > 1 or rungs == 0:
        left, rungs = (left + 1) // 2, rungs + 1
    assert rungs_left(count) == rungs


def test_the_difference_is_paired():
    share, (low, high) = difference(curve("a", 1, 1, -9, 1), 10, curve("b", 1, -9, -9, -9), 10)
    assert share == 0.5  # The differences are 0, 1, 0, 1, with the standard deviation 0.57735.
    assert (round(low, 4), round(high, 4)) == (-0.0658, 1.0658)
