"""The variations of the simulated author: wording, meaning, stickiness, cascades, drift, forgetting, guard errors."""

import json
from functools import cache

import pytest

from packages.lab.tests.simulated.test_profile import own
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from replan_lab.experiments.equal_calls import cost_in_calls
from replan_lab.experiments.preparation import Installation, prepare
from replan_lab.simulated.author import answer
from replan_lab.simulated.profile import GuardErrors, load_profile
from replan_lab.simulated.world import World, attempt_before, attempts_before, clue, read_views, views_text
from runtime.core.errors import UsageProblem
from tests.contracts.model import request

PROBLEM = "The login page times out after the second attempt, when every session store answers slowly."
FILE = data_root() / "docs" / "experiments" / "full" / "all_worlds.yaml"
NODES = [f"g_x/v{visit}.a{attempt}" for visit in range(1, 6) for attempt in (1, 2)]
loaded = cache(load_profile)


def profile(**changes):
    return loaded("base").model_copy(update={"malformed": 0.0, **changes})


def written(role, changed, node="g_x/v1.a1", seed=0, **more):
    """Return the text of an attempt by the author with a profile."""
    material = {"role": role, "specification": PROBLEM, "dependencies": {}, **more}
    return answer(changed, seed, request(node, material=material), "simulated:x")[0].text


def typed(role, text):
    """Return the value of an artifact's typed field."""
    return json.loads(text)[{"analysis": "problem_type", "recon": "apis_involved", "strategy": "strategy_id"}[role]]


@pytest.mark.parametrize("role", ["analysis", "recon", "strategy"])
def test_words_vary_while_equal_views_have_equal_meanings(role):
    changed, meanings, texts = profile(texts_vary=1.0), {}, set()
    for node in NODES:
        text = written(role, changed, node)
        texts.add(text)
        meanings.setdefault(str(read_views(text)), set()).add(str(typed(role, text)))
    assert len(texts) == len(NODES)
    assert all(len(said) == 1 for said in meanings.values())


@pytest.mark.parametrize("role", ["analysis", "recon", "strategy"])
def test_meanings_vary_while_the_view_is_the_same(role):
    changed = profile(texts_vary=1.0, meanings_vary=1.0, easy=1.0, causes={"plan": 1.0})
    written_so = [written(role, changed, node) for node in NODES]
    assert len({str(read_views(text)) for text in written_so}) == 1
    assert len({str(typed(role, text)) for text in written_so}) > 1


def test_a_sticky_author_repeats_its_view_until_feedback_helps():
    for seed in range(30):
        world = World(profile(sticky={"other": 1.0}, causes={"recon": 1.0}, heeds={}), seed, PROBLEM)
        assert len({world.view("recon", node, ()) for node in NODES}) == 1
    told, kept = [clue("recon")] * 5, 0
    for seed in range(100):
        world = World(profile(sticky={"other": 1.0}, causes={"recon": 1.0}, heeds={}), seed, PROBLEM)
        kept += world.view("recon", NODES[2], told) == world.view("recon", NODES[0], ())
    assert 40 < kept < 90


def test_a_share_of_attempts_is_sticky():
    """With half of the attempts sticky, and views that agree once in nine otherwise, 56 % are as the attempt before."""
    changed = profile(sticky={"other": 0.5}, causes={"unsolvable": 1.0}, favourite={}, easy=1 / 9)
    same = 0
    for seed in range(400):
        world = World(changed, seed, PROBLEM)
        same += world.view("recon", NODES[0], ()) == world.view("recon", NODES[2], ())
    assert 0.48 < same / 400 < 0.64


def test_the_attempt_before_is_of_the_visit_or_the_first_of_the_one_before():
    assert attempt_before("g/v2.a3.b1") == "g/v2.a2.b1"
    assert attempt_before("g/v2.a1") == "g/v1.a1"
    assert attempt_before("g/v1.a1") is None
    assert attempt_before("another name") is None
    assert [attempts_before(node) for node in ("g/v1.a1", "g/v1.a2", "g/v3.a2", "other")] == [0, 1, 3, 0]


def share_right(role, changed, node="g_x/v1.a1", **more):
    def right(seed):
        world = World(changed, seed, PROBLEM)
        above = more.get("above")
        dependencies = {} if above is None else {above: {"rationale": views_text({above: world.truth(above) + 1})}}
        text = written(role, changed, node, seed, dependencies=dependencies, escalation=more.get("escalation", ()))
        return read_views(text)[role] == world.truth(role)

    return sum(right(seed) for seed in range(400)) / 400


def test_a_wrong_artifact_above_lowers_the_odds():
    """Odds of 1 become 1 to 3, but only where something above is wrong."""
    changed = profile(cascade=1 / 3, easy=0.5, causes={"plan": 1.0})
    assert 0.18 < share_right("strategy", changed, above="recon") < 0.32
    assert 0.43 < share_right("strategy", changed) < 0.57


def test_the_odds_drift_with_the_attempts_at_a_step():
    changed = profile(drift=0.5, easy=0.5, causes={"plan": 1.0})
    assert 0.43 < share_right("strategy", changed) < 0.57
    assert 0.14 < share_right("strategy", changed, "g_x/v2.a2") < 0.26


def test_a_forgetful_author_makes_no_use_of_what_sent_the_search_back():
    told = [f"{clue('strategy')} {number}" for number in range(5)]
    usual = profile(causes={"strategy": 1.0}, heeds={})
    assert share_right("strategy", usual, escalation=told) > share_right("strategy", usual) + 0.1
    forgetful = usual.model_copy(update={"forgets": 1.0})
    assert share_right("strategy", forgetful, escalation=told) == share_right("strategy", forgetful)


def test_a_finding_that_misleads_lowers_the_odds_where_the_problem_is_easy():
    changed = profile(misled=1 / 3, easy=0.5, causes={"plan": 1.0})
    assert 0.18 < share_right("strategy", changed, escalation=[clue("strategy")]) < 0.32
    assert 0.43 < share_right("strategy", changed, escalation=[clue("recon")]) < 0.57


def test_the_guard_of_a_profile_errs_and_prices_count_at_equal_calls():
    prepared = prepare(FILE, Installation(registry({}, {}), data_root(), UserConfig(), {}, 0.0))
    arms = {arm.name: arm for arm in prepared.arms}
    errs = arms["shipped@guard_errs"]
    assert errs.profile.guard_errors == GuardErrors(false_accept=0.05, false_reject=0.05)
    assert errs.lab_setup.verdict_filter.false_accept == 0.05
    assert arms["shipped@base"].lab_setup.verdict_filter is None
    trial = arms["shipped@costly_plans"].lab_trial(prepared.problems[0], 1)
    plans = next(use.calls for step, use in trial.steps.items() if step == "g_plan")
    assert cost_in_calls(trial) == trial.calls + 2 * plans
    assert arms["shipped@base"].lab_trial(prepared.problems[0], 1).price_calls == 0


@pytest.mark.parametrize("changes", [{"sticky": {"weather": 0.5}}, {"call_prices": {"weather": 2.0}}])
def test_an_unknown_level_of_a_variation_is_refused(tmp_path, changes):
    with pytest.raises(UsageProblem, match="there is no level 'weather'"):
        load_profile("own", own=own(tmp_path, **changes))


def test_every_variation_is_off_in_the_base():
    base = loaded("base")
    assert (base.texts_vary, base.meanings_vary, base.forgets, base.sticky) == (0, 0, 0, {})
    assert (base.cascade, base.drift, base.misled, base.call_prices) == (1, 1, 1, {})
    assert base.guard_errors == GuardErrors()
