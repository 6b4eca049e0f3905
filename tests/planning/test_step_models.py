"""A step that names a model: its price in reservations and charges, its settings, and changes while the run goes on."""

import pytest

from actors.planning.config import StepModel, writes_the_same
from actors.run.calls import Generated
from actors.run.machine import NotStarted
from actors.run.settings import SettingsChanged
from actors.values.model_settings import ModelSettings
from runtime.core.ledger import Limits, Price, Usage
from runtime.core.machine import Work
from runtime.core.messages import Mailed
from runtime.models.port import Reply
from tests.support.worlds import World, passed, pinned

CHEAP = Price(input_per_token_usd=0.001, output_per_token_usd=0.001)
DEAR = Price(input_per_token_usd=1.0, output_per_token_usd=1.0)
STEPS = {"a": {"model": "small", "model_settings": {"seed": 1}}, "b": {"requires": ["a"]}}


@pytest.fixture
def config():
    """A configuration in which the first step asks a cheap model of its own."""
    return pinned(STEPS, price=DEAR, classifications_max=2).changed(
        step_models={"a": StepModel(model="small", price=CHEAP)},
        model_settings={"a": ModelSettings(seed=1), "b": ModelSettings(seed=2)},
    )


def started(config):
    """Return a world in which the first call is open."""
    world = World(config, judge=lambda *_: passed(), limits=Limits(micro_usd=10**12))
    world.begin()
    return world


def test_a_call_is_reserved_and_charged_at_the_price_of_the_steps_model(config):
    world = started(config)
    first = world.state.run.calls.open["a/v1.a1"].request
    assert first.micro_usd_max == 1_000 * first.tokens_max
    world.author = lambda *_: Reply("{}", Usage(input_tokens=10, output_tokens=5), "small")
    world.answer("a/v1.a1")
    assert world.state.run.ledger.spent.micro_usd == 15_000
    world.answer("judge:a/v1.a1")
    second = world.state.run.calls.open["b/v1.a1"].request
    assert second.micro_usd_max == 1_000_000 * second.tokens_max
    world.answer("b/v1.a1")
    assert world.state.run.ledger.spent.micro_usd == 15_000 + 15_000_000


def test_a_late_reply_is_charged_at_the_price_of_its_step(config):
    world = started(config)
    late = Generated("a/v1.a1", world.now + 1, 1.0, Reply("{}", Usage(input_tokens=10, output_tokens=5), "small"))
    event = world.machine.accept(cancelled(world), late)
    assert event.kind == "settled"
    assert event.used.micro_usd == 15_000


def cancelled(world):
    """Return the state after the run was cancelled with its call open."""
    world.send(Mailed(1, "cancel", '{"kind": "cancel"}', world.now))
    assert not isinstance(world.state, NotStarted)
    assert world.state.run.finished is not None
    return world.state


def test_the_brief_names_the_model_and_has_the_settings(config):
    world = started(config)
    request = world.state.run.calls.open["a/v1.a1"].request
    options = world.machine.brief(world.state, Work("a/v1.a1", "step:a", request)).request
    assert (options.model, options.settings) == ("small", ModelSettings(seed=1))
    world.answer("a/v1.a1")
    world.answer("judge:a/v1.a1")
    request = world.state.run.calls.open["b/v1.a1"].request
    options = world.machine.brief(world.state, Work("b/v1.a1", "step:b", request)).request
    assert (options.model, options.settings) == ("", ModelSettings(seed=2))


def test_another_model_is_for_every_step_and_leaves_all_settings(config):
    """The provider of the new model may not offer the model that the step named."""
    after = config.with_settings(SettingsChanged(at=0.0, model="other", price=CHEAP))
    assert (after.steps["a"].model, after.steps["b"].model, after.model) == ("", "", "other")
    assert {each.price for each in after.steps.values()} == {CHEAP}
    assert after.model_settings == config.model_settings


def test_an_execution_with_the_same_model_keeps_those_of_steps_also_below_them(config):
    parent = pinned({"c": {"generator": "workflow:low"}}).changed(children={"low": config})
    changed = parent.with_settings(SettingsChanged(at=0.0, model=parent.model, price=CHEAP))
    assert changed.children["low"].step_models == {}
    kept = changed.with_step_models(parent)
    assert (kept.children["low"].step_models, kept.price) == (config.step_models, CHEAP)
    rules = config.with_settings(SettingsChanged(at=0.0, model="template:bug"))
    assert (rules.deterministic, rules.with_step_models(config).deterministic) == (True, False)


def test_a_change_of_settings_is_for_every_step_and_the_classifier(config):
    after = config.with_settings(SettingsChanged(at=0.0, model_settings={"seed": None, "top_p": 0.5}))
    assert [after.steps[step].settings for step in "ab"] == [ModelSettings(top_p=0.5)] * 2
    assert after.classifier_settings == ModelSettings(top_p=0.5)
    back = after.with_settings(SettingsChanged(at=0.0, model_settings={"top_p": None}))
    assert back.model_settings == {}


def test_a_price_is_known_only_where_each_models_is(config):
    assert config.price_known
    assert not config.changed(price=None).price_known
    assert not config.changed(step_models={"a": StepModel(model="small")}).price_known


def test_a_run_repeats_itself_only_where_all_of_its_models_do():
    assert writes_the_same("template:bug", {"a": StepModel(model="template:bug")})
    assert not writes_the_same("template:bug", {"a": StepModel(model="small")})
    assert not writes_the_same("small", {"a": StepModel(model="template:bug")})


def test_no_settings_are_stored_where_there_are_none():
    text = pinned({"a": {}}).model_dump_json()
    assert "model_settings" not in text
    assert "step_models" not in text
