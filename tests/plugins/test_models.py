"""Models from installed distributions: a prefix in `--model`, and a function that makes the model."""

import importlib
import json
import re

import pytest

import replan
from actors.config.model_spec import (
    MODEL_PLUGINS,
    Named,
    PluginSpec,
    describe_model,
    parse_model_spec,
    pin_model,
    reads_text,
)
from replan.runs.models import check_model, is_stateless, provider_of
from replan.runs.prepare import price_for
from replan.setup.settings import UserConfig, choose_model, price_of
from runtime.core import entry_points
from runtime.core.errors import UsageProblem
from runtime.core.ledger import FREE
from tests.cli.samples import PLAN, PROBLEM
from tests.support.distributions import install

MODULE = """
import replan
from runtime.core.ledger import FREE
from runtime.models.port import Fault, FaultKind, Reply

class Echo:
    closed = 0

    def __init__(self, text, environment):
        if text == "dear":
            self.price = FREE
        self.name, self.text, self.key = text, text, environment.get("ECHO_KEY", "")

    async def complete(self, request):
        if self.text == "broken":
            raise RuntimeError("kaput")
        if self.text == "wordy":
            return "a reply"
        return Reply(text=PLAN, usage=None, model=self.key)

    async def aclose(self):
        type(self).closed += 1

def make(text, environment):
    if text == "unknown":
        raise replan.UsageProblem("there is no such echo", place="--model", hint="name another")
    if text == "odd":
        raise ValueError("odd")
    return "no model" if text == "none" else Echo(text, environment)

def lonely():
    return None

PLAN = {plan!r}
"""
MODELS = {"echo": "echoes:make", "lone": "echoes:lonely", "lost": "nowhere:make", "template": "echoes:make"}
WORKFLOW = "name: mine\naction_pairs:\n  g_plan: {generator: model, guard: plan_medium, prompt: plan_direct}\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Install a distribution with a model, and with models that cannot be used."""
    module = MODULE.replace("{plan!r}", repr(json.dumps(PLAN)))
    install(monkeypatch, tmp_path / "site", "loud-echoes", {"replan.models": MODELS}, echoes=module)
    return tmp_path / "site"


@pytest.fixture
def solve(tmp_path, monkeypatch):
    """Return a function that solves a problem with a model."""
    monkeypatch.setenv("ECHO_KEY", "loud")
    path = tmp_path / "mine.yaml"
    path.write_text(WORKFLOW)
    return lambda model, home=replan.MEMORY: replan.solve(PROBLEM, workflow=str(path), model=model, home=home)


def test_a_run_is_planned_by_the_model_of_a_plug_in_which_is_closed(site, solve):

    result = solve("echo:valley")
    assert result.succeeded
    assert result.path[-1].value == PLAN
    assert importlib.import_module("echoes").Echo.closed == 1


def test_a_model_of_a_plug_in_reads_the_text_has_no_known_price_and_shows_only_its_prefix(site):
    pinned = pin_model(" echo:a valley?loud")
    spec = parse_model_spec(pinned)
    assert spec == PluginSpec("echo", "a valley?loud")
    assert (reads_text(pinned), describe_model(pinned)) == (True, "echo")
    assert (is_stateless(pinned), provider_of(pinned, {})) == (False, None)
    assert price_of(spec, at=0) is None
    prices = UserConfig.model_validate(
        {"prices": {spec.text: {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2}}}
    ).prices
    own = {name: entry.price("config.yaml") for name, entry in prices.items()}
    assert price_of(spec, own=own, at=0) == own[spec.text]


def test_the_price_that_a_plug_in_states_holds_unless_the_settings_have_another(site):
    choice = choose_model("echo:dear", {}, UserConfig())
    assert price_for(choice, UserConfig(), {}, 0) == FREE
    price = {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2}
    config = UserConfig.model_validate({"prices": {"echo:dear": price}})
    assert price_for(choice, config, {}, 0) == config.prices["echo:dear"].price("config.yaml")
    assert price_for(choose_model("echo:valley", {}, config), config, {}, 0) is None


@pytest.mark.parametrize(("model", "extra"), [("simulated:base?seed=3", "lab"), ("quoting:", "acquire")])
def test_a_model_of_a_package_that_is_not_installed_names_what_to_install(monkeypatch, tmp_path, model, extra):
    """Its prefix is no part of a server's name, so that no server is asked for it."""
    monkeypatch.setattr(entry_points, "_points", lambda *_: ())
    with pytest.raises(UsageProblem, match=f"no installed plug-in provides the model '{re.escape(model)}'") as problem:
        replan.solve(PROBLEM, model=model, home=replan.MEMORY)
    assert problem.value.hint.startswith("pip install ")
    assert extra in problem.value.hint


def test_a_model_of_our_packages_is_stored_and_shown_as_it_is_written():
    assert pin_model("simulated:base?seed=3") == describe_model("simulated:base?seed=3") == "simulated:base?seed=3"


@pytest.mark.parametrize(
    ("model", "cause"),
    [
        ("echo:unknown", "--model: there is no such echo (name another)"),
        ("echo:odd", "replan.models echo (from loud-echoes): the plug-in cannot make the model 'odd': ValueError: odd"),
        ("echo:none", "replan.models echo (from loud-echoes): the plug-in returned a value of type str, not a model"),
        (
            "lone:x",
            "replan.models lone (from loud-echoes): is the function lonely(), and should be a function make",
        ),
        ("lost:x", "replan.models lost (from loud-echoes): cannot be loaded: ModuleNotFoundError"),
        ("echo:\x07", "--model: the text after `echo:` is longer than 200 characters, or has unprintable characters"),
    ],
)
def test_a_model_that_cannot_be_made_is_refused_in_one_line(site, model, cause):
    with pytest.raises(replan.UsageProblem) as caught:
        check_model(parse_model_spec(pin_model(model)), {})
    assert str(caught.value).startswith(cause)


@pytest.mark.parametrize(
    ("model", "cause"),
    [
        ("echo:broken", "model echo: RuntimeError: kaput"),
        ("echo:wordy", "model echo returned str, not a Reply or a Fault"),
    ],
)
def test_a_model_that_fails_parks_the_run_and_is_named(site, solve, model, cause):
    result = solve(model)
    assert (result.status, result.cause) == ("parked", "plugin")
    assert cause in result.why


@pytest.mark.parametrize(
    ("text", "pinned"),
    [
        ("echo:a valley", "plugin:echo:a valley"),
        ("plugin:echo:a valley", "plugin:echo:a valley"),
        ("recorded:a.yaml?record=echo:x y", "recorded:a.yaml?record=plugin:echo:x y"),
        ("qwen3:8b", "qwen3:8b"),
        ("template:bug", "template:bug"),
        ("echo", "echo"),
    ],
)
def test_the_text_of_a_pinned_model_says_whether_it_is_of_a_plug_in(site, text, pinned):
    assert pin_model(text) == pinned


def test_a_stored_name_of_a_server_s_model_stays_that_when_a_plug_in_takes_its_prefix(site):
    assert parse_model_spec("echo:8b") == Named("echo:8b")


@pytest.mark.parametrize("text", ["plugin:", "plugin:echo", "plugin::x"])
def test_the_prefix_of_pinned_plug_ins_needs_another_one(text):
    with pytest.raises(replan.UsageProblem, match="`plugin:` must be followed by a plug-in's prefix and a text"):
        parse_model_spec(text)


def test_a_run_whose_plug_in_is_uninstalled_sends_its_prompt_to_no_server(site, solve, tmp_path, monkeypatch):
    """`echo:broken` may be a server's name for a model, and the address of a server is set."""
    home = tmp_path / "home"
    run = solve("echo:broken", home).run_id
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    with monkeypatch.context() as context:
        context.setattr(entry_points, "_points", lambda *_: ())
        with pytest.raises(
            replan.UsageProblem, match=r"no installed plug-in provides the model 'echo:broken' \(install the plug-in"
        ):
            replan.resume(run, home=home)
    assert replan.resume(run, home=home).cause == "plugin"


def test_a_step_keeps_the_model_of_a_plug_in(site, solve, tmp_path):
    (tmp_path / "mine.yaml").write_text(WORKFLOW.replace("plan_direct", "plan_direct, model: 'echo:a valley'"))
    assert solve("template:bug").path[-1].value == PLAN


def test_a_prefix_is_neither_taken_twice_nor_from_a_built_in_model(site, tmp_path, monkeypatch):
    install(monkeypatch, tmp_path / "other", "faint-echoes", {"replan.models": {"echo": "echoes:make"}})
    with pytest.raises(
        replan.UsageProblem,
        match=r"echo \(from faint-echoes and loud-echoes\): several packages have a plug-in of this name",
    ):
        check_model(parse_model_spec(pin_model("echo:x")), {})
    assert not isinstance(parse_model_spec(pin_model("template:bug")), PluginSpec)
    problems = [problem.partition(" (from")[0] for problem in MODEL_PLUGINS.problems()]
    assert sorted(problems) == [f"replan.models {name}" for name in ("echo", "lone", "lost", "template")]
    assert any(
        "template (from loud-echoes): a plug-in cannot have a built-in name" in problem
        for problem in MODEL_PLUGINS.problems()
    )
