"""Accepted actions are checked again before they become a plan; a large plan is a finding, malformed PDDL an error."""

import json
import re

import jsonschema
import pytest
import yaml

from actors.config.loader import load_workflow
from actors.guards import plan_medium
from actors.values.artifacts import Artifact, Context
from packages.lab.tests.pddl.worlds import BLOCKS, SWAP, TWO
from replan.setup.installation import data_root
from replan_lab.pddl.action_list import actions_in
from replan_lab.pddl.domain_reader import PddlTexts, specification
from replan_lab.pddl.judging import make_guard, make_plan
from replan_lab.pddl.planning import workflow_path
from runtime.core.errors import UsageProblem

DOMAIN = """(define (domain d) (:predicates (g) (c0) (c1) (c2) (c3) (c4) (c5) (c6) (c7))
  (:action noop)
  (:action toss :effect (and (oneof (c0) (and)) (oneof (c1) (and)) (oneof (c2) (and)) (oneof (c3) (and))
    (oneof (c4) (and)) (oneof (c5) (and)) (oneof (c6) (and)) (oneof (c7) (and)))))"""
PROBLEM = "(define (problem p) (:domain d) (:init) (:goal (g)))"


def artifact(value):
    return Artifact(artifact_id="a", step="g_actions", content=json.dumps(value))


def context(actions, domain=DOMAIN, problem=PROBLEM):
    """Return the context of a plan of actions that some guard accepted."""
    return Context(
        specification=specification(PddlTexts(domain, problem)),
        dependencies={"g_actions": artifact({"actions": actions})},
        settings={"roles": {"g_actions": "actions"}},
    )


def test_valid_actions_become_a_plan_that_reaches_the_goal():
    plan = json.loads(make_plan(context([line.partition(" ;")[0] for line in SWAP.splitlines()], BLOCKS, TWO)))
    assert "(on a b)" in plan["goal_state"]


@pytest.mark.parametrize(
    "actions",
    [
        ["(noop)", "(fly)"],
        ["(noop)", ["fly"]],
        ["(noop)", "(noop x)"],
        ["(toss)"],
        [],
    ],
)
def test_what_another_guard_accepted_and_is_no_plan_of_valid_actions_becomes_no_plan(actions):
    """An invalid action would leave a plan without its goal, which passes."""
    made = json.loads(make_plan(context(actions)))
    assert made == {}
    guard = plan_medium.make({"guard_catalog": {"only": ["domain"]}})
    assert not guard(artifact(made), context(actions)).passed


def test_a_plan_that_is_too_large_is_a_finding_and_a_text_that_is_no_pddl_is_an_error():
    guard = make_guard({})
    [finding] = guard(artifact({"actions": ["(toss)"]}), context([])).findings
    assert (finding.code, "too many outcomes" in finding.message) == ("plan.too_complex", True)
    with pytest.raises(UsageProblem, match="never closed"):
        specification(PddlTexts("(define", PROBLEM))
    wrong = Context(specification="p\n\n```pddl\n(define\n```\n\n```pddl\n(define\n```")
    with pytest.raises(UsageProblem, match="never closed"):
        guard(artifact({"actions": ["(toss)"]}), wrong)


def test_the_example_in_the_prompt_is_read_as_actions():
    book = load_workflow(workflow_path(), data_root()).prompts
    [example] = re.findall(r"```json\n(.*?)\n```", book.entries["actions"].constraints, re.DOTALL)
    actions, errors = actions_in(json.loads(example))
    assert ([str(action) for action in actions], errors) == (json.loads(example)["actions"], ())


@pytest.mark.parametrize(
    ("file", "kind"), [("configs/pddl/workflow.yaml", "workflow"), ("prompts/pddl.yaml", "prompts")]
)
def test_a_shipped_file_names_its_schema_and_fits_it(file, kind):
    path, schema = data_root("replan_lab") / file, data_root() / "configs" / "schemas" / f"{kind}.schema.json"
    first, text = path.read_text().split("\n", 1)
    assert (path.parent / first.removeprefix("# yaml-language-server: $schema=")).resolve() == schema
    jsonschema.validate(yaml.safe_load(text), json.loads(schema.read_text()))
