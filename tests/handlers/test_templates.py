"""The template selector: which template it takes, what it fills it with, and that it costs nothing."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from actors.config.step_guards import BUILT_IN
from actors.guards.fields import PROBLEM_TYPES
from actors.handlers.generators import Registry
from actors.handlers.plan_generators import FALLBACK, TemplateSelectorGenerator
from actors.planning.children import actors_for
from actors.run.kind import Resources
from actors.values.artifacts import Artifact, Context
from replan import MEMORY, solve
from replan.setup.plugins import registry
from runtime.core.clock import TrioClock
from runtime.core.errors import UsageProblem
from tests.support.artifacts import ANALYSIS, PROBLEM, RECON, plan
from tests.support.worlds import pinned

TEMPLATES = Path(__file__).resolve().parents[2] / "configs" / "templates"
SLOW = "Search is slow\n\nThe search in src/search.py takes 9 s with 10,000 rows; it must take less than 200 ms."


def context(specification=PROBLEM, **dependencies):
    accepted = {f"g_{role}": Artifact(role, f"g_{role}", json.dumps(value)) for role, value in dependencies.items()}
    roles = {f"g_{role}": role for role in dependencies}
    return Context(specification, dependencies=accepted, settings={"roles": roles})


async def selected(given, **config):
    """Return the plan that is selected, after a look at what it cost."""
    reply = await TemplateSelectorGenerator(TEMPLATES, config).generate(SimpleNamespace(context=given))
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (0, 0)
    return json.loads(reply.text)


@pytest.mark.parametrize("kind", PROBLEM_TYPES)
async def test_the_analysis_decides_and_the_template_is_proved(kind):
    """S123, S131: a template for each type, filled from the text, that keeps the promises of the strictest guard."""
    made = await selected(context(analysis={**ANALYSIS, "problem_type": kind}))
    assert made["plan_id"].startswith(kind)
    for level in ("plan_minimal", "plan_medium", "plan_expansive"):
        assert BUILT_IN[level]({})(Artifact("n", "g_template", json.dumps(made)), Context(PROBLEM)).errors == ()
    assert "login" in json.dumps(made).lower()


async def test_the_accepted_recon_fills_the_template():
    """S125: facts of the recon take precedence over files that the text names."""
    found = {**RECON, "mentioned_files": ["src/other.py"]}
    assert "src/other.py" in json.dumps(await selected(context(analysis=ANALYSIS, recon=found)))


@pytest.mark.parametrize("said", ["a_type_of_its_own", "", None, 3, ["bug_fix"]])
async def test_an_unknown_type_falls_back_to_a_defined_template(said):
    """S132, S123: never an error in the middle of a run, also without an analysis, and the same plan each time."""
    made = await selected(context(SLOW, analysis={**ANALYSIS, "problem_type": said}))
    assert made == await selected(context(SLOW, analysis={**ANALYSIS, "problem_type": FALLBACK}))
    assert (await selected(context(SLOW)))["plan_id"].startswith(FALLBACK)


async def test_a_plan_of_the_users_own_is_passed_on_unchanged():
    mine, other = plan(plan_id="mine"), {**ANALYSIS, "problem_type": "feature"}
    assert await selected(context(analysis=ANALYSIS), templates={"bug_fix": mine}) == mine
    assert (await selected(context(analysis=other), templates={"bug_fix": mine}))["plan_id"].startswith("feature")
    audit = {**ANALYSIS, "problem_type": "audit"}
    assert await selected(context(analysis=audit), templates={"audit": mine}) == mine, "a type that is not shipped"
    assert await selected(context(SLOW, analysis=audit), templates={"feature": mine}) == mine, (
        "the fallback takes it, too"
    )


async def test_a_plan_for_every_other_type():
    """`plan` serves what `templates` does not name: a type that is not shipped, and a text that nobody has analysed."""
    mine, rest = plan(plan_id="mine"), plan(plan_id="rest")
    for given, wanted in (
        (context(analysis=ANALYSIS), mine),
        (context(analysis={**ANALYSIS, "problem_type": "audit"}), rest),
        (context(SLOW), rest),
    ):
        assert await selected(given, templates={"bug_fix": mine}, plan=rest) == wanted


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ({"template": {}}, "template: unknown setting 'template' (did you mean 'templates'?)"),
        (
            {"templates": {"feature": "no/such.yaml"}},
            "templates.feature: no/such.yaml: no such file (remove the entry to use the shipped template)",
        ),
    ],
)
def test_a_wrong_setting_is_an_error_before_the_actors_start(config, line):
    step = {"generator": "TemplateSelectorGenerator", "generator_config": config, "role": "plan"}
    known = Registry(guards={"toy": BUILT_IN["plan_minimal"]}, templates=TEMPLATES)
    with pytest.raises(UsageProblem) as caught:
        actors_for(pinned({"t": step}), Resources(None, TrioClock(), known))
    assert str(caught.value) == f"generator_config.{line}"


NAMES = ["TemplateSelectorGenerator", "PlanGenerator"]
"""One generator: AtomicGuard calls a plan out of its catalogue by the second name."""


@pytest.mark.parametrize("name", NAMES)
def test_without_a_folder_there_is_no_selector(name):
    step = pinned({"t": {"generator": name}}).workflow
    assert f"generator {name!r}" in Registry(guards={"toy": None}).find_missing(step)
    assert registry().find_missing(step) == ("guard 'toy'",)


@pytest.mark.parametrize("name", NAMES)
def test_no_plug_in_takes_its_name(name):
    async def mine(context):
        return "{}"

    with pytest.raises(UsageProblem, match=f"{name}: a plug-in cannot have a built-in name"):
        registry(generators={name: mine})


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_may_be_a_template_alone(tmp_path, name):
    pair = {"generator": name, "guard": "plan_medium"}
    path = tmp_path / "catalogue.json"
    path.write_text(json.dumps({"name": "catalogue", "action_pairs": {"g_plan": pair}}))
    result = solve(SLOW, workflow=str(path), model="template:bug", home=MEMORY)
    assert (result.outcome, result.calls) == ("success", 0)
    assert result.plan_json["plan_id"].startswith(FALLBACK)
