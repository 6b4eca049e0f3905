"""Installed plug-ins: a broken one is reported with its package, and affects only workflows that name it."""

import re

import pytest
import trio.lowlevel

import replan
from replan.setup.plugins import GENERATOR_PLUGINS, GUARD_PLUGINS
from tests.cli.samples import PLAN, PROBLEM, write_script
from tests.support.distributions import install

MODULE = """
import replan
from replan import Verdict

def guard(artifact, context):
    return Verdict(guard="good", passed=True, score=1.0)

def make(config):
    return guard

def picky(config):
    raise ValueError("no rules file")

def nothing(config):
    return True

def boom(config):
    def guard(artifact, context):
        raise RuntimeError("kaput")
    return guard

def truth(config):
    return lambda artifact, context: True

def plan(context):
    return PLAN

async def tired(context):
    raise RuntimeError("kaput")

text = "no function"
PLAN = {plan!r}
"""
GUARDS = {
    "good": "house:make",
    "itself": "house:guard",
    "gone": "house:absent",
    "lost": "nowhere:make",
    "words": "house:text",
    "nothing": "house:nothing",
    "picky": "house:picky",
    "boom": "house:boom",
    "truth": "house:truth",
    "recon_valid": "house:make",
}
GENERATORS = {"plan": "house:plan", "blank": "house:absent", "tired": "house:tired", "pair": "house:guard"}
WORKFLOW = "name: mine\naction_pairs:\n  g_plan: {{generator: {generator}, guard: {guard}, prompt: plan_direct}}\n"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a package of good and broken plug-ins for one test."""
    module = MODULE.replace("{plan!r}", repr(plan_text()))
    install(
        monkeypatch, tmp_path, "house-rules", {"replan.guards": GUARDS, "replan.generators": GENERATORS}, house=module
    )


def plan_text():
    import json

    return json.dumps(PLAN)


@pytest.fixture
def solve(tmp_path):
    """Return a function that solves with a guard and a generator."""

    def solving(guard="plan_medium", generator="model", **options):
        path = tmp_path / "mine.yaml"
        path.write_text(WORKFLOW.format(guard=guard, generator=generator))
        model = write_script(tmp_path, {"g_plan": [PLAN]})
        return replan.solve(PROBLEM, workflow=str(path), model=model, home=replan.MEMORY, **options)

    return solving


def test_a_broken_plug_in_does_not_affect_other_workflows(installed, solve):
    assert solve().succeeded
    assert solve(guard="{all_of: [plan_medium, good]}").succeeded
    assert solve(generator="plan").succeeded, "a plain function is a generator too"


@pytest.mark.parametrize(
    ("guard", "cause"),
    [
        (
            "itself",
            "is the function guard(artifact, context), and should be a function make(config) that returns guard(",
        ),
        ("gone", "cannot be loaded: AttributeError"),
        ("lost", "cannot be loaded: ModuleNotFoundError"),
        ("words", "is of type str, and should be a function make(config)"),
        ("nothing", "makes a value of type bool, not a guard"),
        ("picky", "makes no guard: ValueError: no rules file"),
        ("recon_valid", "a plug-in cannot have a built-in name"),
    ],
)
def test_a_broken_guard_is_reported_with_its_package(installed, solve, guard, cause):
    with pytest.raises(replan.UsageProblem) as caught:
        solve(guard=guard)
    assert str(caught.value).startswith(f"replan.guards {guard} (from house-rules): {cause}")


@pytest.mark.parametrize(
    ("generator", "cause"),
    [
        ("blank", "cannot be loaded: AttributeError"),
        ("pair", "is the function guard(artifact, context), and should be a function make(context)"),
    ],
)
def test_a_broken_generator_is_reported_with_its_package(installed, solve, generator, cause):
    with pytest.raises(replan.UsageProblem) as caught:
        solve(generator=generator)
    assert str(caught.value).startswith(f"replan.generators {generator} (from house-rules): {cause}")


def test_problems_lists_the_broken_plug_ins(installed):
    names = [
        problem.partition(" (from house-rules): ")[0]
        for problem in (*GUARD_PLUGINS.problems(), *GENERATOR_PLUGINS.problems())
    ]
    guards = [f"replan.guards {name}" for name in ("itself", "gone", "lost", "words", "recon_valid")]
    assert names == [*guards, "replan.generators blank", "replan.generators pair"]


@pytest.mark.parametrize("guard", ["boom", "{all_of: [plan_medium, boom]}"])
def test_the_result_names_the_guard_that_raised(installed, solve, guard):
    result = solve(guard=guard)
    assert (result.status, result.cause) == ("parked", "plugin")
    assert re.search(r"guard boom: RuntimeError: kaput \([a-z_]+\.py:[0-9]+\)", result.why)


@pytest.mark.parametrize("guard", ["truth", "{majority: [plan_medium, truth]}"])
def test_the_result_names_the_guard_that_returned_no_verdict(installed, solve, guard):
    assert "guard truth returned bool, not a Verdict" in solve(guard=guard).why


def test_the_result_names_an_async_guard(solve):
    async def late(artifact, context):
        await trio.lowlevel.checkpoint()
        raise RuntimeError("kaput")

    async def wordy(artifact, context):
        await trio.lowlevel.checkpoint()
        return "fine"

    assert "guard late: RuntimeError: kaput" in solve("{all_of: [plan_medium, late]}", guards={"late": late}).why
    assert "guard wordy returned str, not a Verdict" in solve("wordy", guards={"wordy": wordy}).why


def test_the_result_names_the_generator_that_raised(installed, solve):
    assert "generator tired: RuntimeError: kaput" in solve(generator="tired").why
