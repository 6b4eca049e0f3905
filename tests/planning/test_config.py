"""The configuration of a run: its graph with the calls of child runs, and what changed settings make of it."""

from actors.planning.config import graph_of
from actors.run.settings import SettingsChanged
from runtime.core.ledger import Price
from tests.support.worlds import pinned

CHILD = pinned({"only": {"rmax": 2, "backtrack_budget": 0}}, max_total_calls=7)
STEPS = {"a": {"rmax": 2}, "run": {"requires": ["a"], "generator": "workflow:below", "rmax": 1}}


def calls(child_calls, children):
    """Return the most and the fewest calls of the step that is a run."""
    steps = {**STEPS, "run": {**STEPS["run"], **({} if child_calls is None else {"child_calls": child_calls})}}
    budget = graph_of(pinned(steps).workflow, children).budgets["run"]
    return budget.calls, budget.happy


def test_the_calls_of_a_step_that_is_a_run_are_its_limit_else_the_worst_case_of_that_run():
    assert CHILD.most_calls == 2
    assert pinned({"only": {"rmax": 9}}, max_total_calls=7).most_calls == 7
    assert calls(None, {"below": CHILD}) == (2, 1)
    assert calls(5, {"below": CHILD}) == (5, 1)
    assert calls(5, None) == (5, 1)
    assert calls(None, None) == (1, 1)
    two = pinned({"a": {}, "b": {"requires": ["a"]}})
    assert calls(5, {"below": two}) == (5, 2)
    assert calls(1, {"below": two}) == (1, 1)


def test_a_graph_has_the_limits_of_the_steps():
    budget = graph_of(pinned({"a": {"rmax": 2, "backtrack_budget": 3}}).workflow).budgets["a"]
    assert (budget.rmax, budget.backtrack_budget, budget.deterministic, budget.calls) == (2, 3, False, 1)


def changed(**fields):
    return pinned(STEPS).with_settings(SettingsChanged(at=0.0, mono=0.0, **fields))


def test_settings_hold_for_every_step_and_for_the_runs_below():
    config = changed(timeout_seconds=33.0)
    assert [config.steps[step].timeout_seconds for step in STEPS] == [33.0, 33.0]
    assert config.children["below"].steps["only"].timeout_seconds == 33.0
    assert config.children["below"].workflow.model_timeout_seconds == 33.0
    config = changed(output_tokens_max=44)
    assert [config.steps[step].output_tokens_max for step in STEPS] == [44, 44]
    assert config.children["below"].steps["only"].output_tokens_max == 44


def test_another_model_brings_its_own_price():
    price = Price(input_per_token_usd=1.0, output_per_token_usd=2.0)
    config = changed(model="other", price=price)
    assert (config.model, config.price, config.children["below"].model, config.deterministic) == (
        "other", price, "other", False,
    )  # fmt: skip
    assert changed(model="template:bug").deterministic is True
    assert changed(timeout_seconds=3.0).model == "toy"


def test_settings_that_change_nothing_leave_the_configuration_as_it_is():
    config = pinned(STEPS)
    assert config.with_settings(SettingsChanged(at=0.0, mono=0.0)) is config


def test_a_run_that_keeps_trying_stops_below_nothing():
    belief = pinned(STEPS, policy="belief")
    assert (belief.stop_below, belief.with_stop_below(0.0).stop_below) == (0.025, 0.0)
    plain = pinned(STEPS)
    assert plain.with_stop_below(0.0) is plain
    assert plain.stop_below is None
    assert pinned(STEPS, policy="belief", stop_below=0.2).stop_below == 0.2


def test_what_a_generator_is_told_is_of_its_step():
    config = pinned({"a": {"role": "recon"}, "b": {"requires": ["a"], "role": "plan"}}, r_max=12)
    told = config.settings("b")
    assert (told["role"], told["roles"], told["r_max"]) == ("plan", {"a": "recon", "b": "plan"}, 12)
    assert config.settings("a")["role"] == "recon"
    assert config.steps["b"].requires == ("a",)
    assert [each.workflow.name for each in pinned(STEPS).all] == ["toy", "toy"]
