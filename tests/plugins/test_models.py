"""Models from installed distributions: a prefix in `--model`, and a function that makes the model."""

import importlib
import json

import pytest

import replan
from actors.config.model_spec import MODEL_PLUGINS, PluginSpec, describe_model, parse_model_spec, reads_text
from replan.runs.models import check_model, is_stateless, provider_of
from replan.setup.settings import UserConfig, price_of
from tests.cli.samples import PLAN, PROBLEM
from tests.support.distributions import install

MODULE = """
import replan
from runtime.models.port import Fault, FaultKind, Reply

class Echo:
    closed = 0

    def __init__(self, text, environment):
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
    return lambda model: replan.solve(PROBLEM, workflow=str(path), model=model, home=replan.MEMORY)


def test_a_run_is_planned_by_the_model_of_a_plug_in_which_is_closed(site, solve):

    result = solve("echo:valley")
    assert result.succeeded
    assert result.path[-1].value == PLAN
    assert importlib.import_module("echoes").Echo.closed == 1


def test_a_model_of_a_plug_in_reads_the_text_has_no_known_price_and_shows_only_its_prefix(site):
    spec = parse_model_spec("echo:a valley?loud")
    assert spec == PluginSpec("echo", "a valley?loud")
    assert (reads_text(spec.text), describe_model(spec.text)) == (True, "echo")
    assert (is_stateless(spec.text), provider_of(spec.text, {})) == (False, None)
    assert price_of(spec, at=0) is None
    prices = UserConfig.model_validate(
        {"prices": {spec.text: {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2}}}
    ).prices
    own = {name: entry.price("config.yaml") for name, entry in prices.items()}
    assert price_of(spec, own=own, at=0) == own[spec.text]


@pytest.mark.parametrize(
    ("model", "cause"),
    [
        ("echo:unknown", "--model: there is no such echo (name another)"),
        ("echo:odd", "replan.models echo (from loud-echoes): makes no model of 'odd': ValueError: odd"),
        ("echo:none", "replan.models echo (from loud-echoes): makes a value of type str, not a model"),
        (
            "lone:x",
            "replan.models lone (from loud-echoes): is of type function, and should be a function make",
        ),
        ("lost:x", "replan.models lost (from loud-echoes): cannot be loaded: ModuleNotFoundError"),
        ("echo:\x07", "--model: the text after `echo:` is longer than 200 characters, or cannot be printed"),
    ],
)
def test_a_model_that_cannot_be_made_is_refused_in_one_line(site, model, cause):
    with pytest.raises(replan.UsageProblem) as caught:
        check_model(parse_model_spec(model), {})
    assert str(caught.value).startswith(cause)


@pytest.mark.parametrize(
    ("model", "cause"),
    [
        ("echo:broken", "model echo: RuntimeError: kaput"),
        ("echo:wordy", "model echo returned str, neither Reply nor Fault"),
    ],
)
def test_a_model_that_fails_parks_the_run_and_is_named(site, solve, model, cause):
    result = solve(model)
    assert (result.status, result.cause) == ("parked", "plugin")
    assert cause in result.why


def test_a_prefix_is_neither_taken_twice_nor_from_a_built_in_model(site, tmp_path, monkeypatch):
    install(monkeypatch, tmp_path / "other", "faint-echoes", {"replan.models": {"echo": "echoes:make"}})
    with pytest.raises(
        replan.UsageProblem, match=r"echo \(from faint-echoes and loud-echoes\): several have this name"
    ):
        check_model(parse_model_spec("echo:x"), {})
    assert not isinstance(parse_model_spec("template:bug"), PluginSpec)
    problems = [problem.partition(" (from")[0] for problem in MODEL_PLUGINS.problems()]
    assert sorted(problems) == [f"replan.models {name}" for name in ("echo", "lone", "lost", "template")]
    assert any("template (from loud-echoes): the name is built in" in problem for problem in MODEL_PLUGINS.problems())
