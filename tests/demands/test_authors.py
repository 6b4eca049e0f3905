"""A lazy author never gets the word "Proved", and a careful one does: scripted models on ten issue texts."""

import re

import pytest

import replan
from actors.demands.reader import read_demands
from actors.demands.table import DemandStanding
from actors.values.requirements import RequirementKind, requirement_id
from tests.cli.samples import ANALYSIS, STRATEGY, write_script
from tests.demands.evaluation import texts

TEXTS = {text["id"]: text["text"] for text in texts("held_out") if not read_demands(text["text"]).unread}
ISSUES = sorted(TEXTS, key=lambda name: -len(read_demands(TEXTS[name]).demands))[:10]
FEW = ISSUES[::4]
"""Issues for the ways of laziness that differ in a detail."""
SATISFIED = 5
"""The largest number of requirements of one step."""

RECON = {
    "mentioned_files": [],
    "stack_traces": [],
    "apis_involved": [],
    "test_references": [],
    "reproduction_steps": [],
    "constraints_mentioned": [],
}


def stated(kind, quote, **more):
    return {"id": requirement_id(quote), "kind": str(kind), "text": quote, "quote": quote, "source": "problem", **more}


def plan_of(requirements, satisfied=()):
    """Return a plan of one step, or of as many as the satisfied requirements need."""
    groups = [satisfied[at : at + SATISFIED] for at in range(0, len(satisfied), SATISFIED)] or [()]
    return {
        "plan_id": "p",
        "goal": "All is done",
        "initial_state": ["begun"],
        "goal_state": [f"done_{number}" for number, _ in enumerate(groups)],
        "total_retry_budget": len(groups),
        "requirements": [
            {**item, "tokens": [f"done_{number}"]} if item in group and item["kind"] == "goal" else item
            for number, group in enumerate([*groups, requirements])
            for item in (group if number < len(groups) else [each for each in requirements if each not in satisfied])
        ],
        "steps": [
            {
                "step_id": f"do_{number}",
                "generator": "coder",
                "guard": "dynamic_test",
                "retry_budget": 1,
                "preconditions": ["begun"],
                "effects": [f"done_{number}"],
                "satisfies": [item["id"] for item in group],
                "implements": ["find", "fix"],
            }
            for number, group in enumerate(groups)
        ],
    }


def run(tmp_path, text, recon, plan, *, again=0, **options):
    """Return the result of a run whose author gives the same replies `again`."""
    replies = {"g_analysis": ANALYSIS, "g_recon": recon, "g_strategy": STRATEGY, "g_plan": plan}
    model = write_script(tmp_path, {step: [reply] * (1 + again) for step, reply in replies.items()})
    return replan.solve(text, model=model, home=replan.MEMORY, max_calls=12, **options)


def sentences(text):
    """Return the sentences of a text, as an author who copies everything finds them."""
    return [part for part in re.split(r"(?<=[.!?])\s+|\n+", text) if len(part.split()) > 1]


def check_words(result):
    """Check that no demand is in no step where the word is used, in all forms of the result."""
    assert result.proved is ("Proved" in result.conclusion.text)
    assert ("Proved" in result.plan.to_markdown()) is result.proved
    assert result.to_dict()["proved"] is result.proved
    if result.proved:
        assert not [row for row in result.to_dict()["demands"] if row["standing"] == "in_no_step"]


@pytest.mark.parametrize("name", FEW)
def test_an_author_who_leaves_the_list_of_requirements_out_gets_no_plan(name, tmp_path):
    result = run(tmp_path, TEXTS[name], RECON, plan_of([]))
    assert (result.plan, result.findings[0].code) == (None, "field.missing")


@pytest.mark.parametrize("name", ISSUES)
def test_an_author_who_states_no_requirements_is_never_proved(name, tmp_path):
    """With an empty list every demand is in no step."""
    text = TEXTS[name]
    result = run(tmp_path, text, {**RECON, "requirements": []}, plan_of([]))
    check_words(result)
    assert {row.standing for row in result.demands.rows} == {DemandStanding.IN_NO_STEP}
    assert result.conclusion.text.startswith(f"Consistent, but {len(result.demands.rows)} demand")


@pytest.mark.parametrize("name", FEW)
def test_an_author_who_calls_everything_scope_is_not_proved_where_something_is_wanted(name, tmp_path):
    text = TEXTS[name]
    scope = [stated("scope", quote) for quote in sentences(text)]
    result = run(tmp_path, text, {**RECON, "requirements": scope}, plan_of(scope))
    check_words(result)
    wanted = [each for each in read_demands(text).demands if each.kind is RequirementKind.GOAL]
    assert not (wanted and result.proved)


@pytest.mark.parametrize("name", FEW)
def test_one_requirement_that_quotes_the_whole_text_answers_for_one_demand(name, tmp_path):
    text = TEXTS[name]
    whole = stated("goal", text.strip(), tokens=["done_0"])
    result = run(tmp_path, text, {**RECON, "requirements": [whole]}, plan_of([whole], [whole]))
    check_words(result)
    assert len(result.demands.in_no_step) >= len(read_demands(text).demands) - 1


@pytest.mark.parametrize("name", ISSUES)
def test_an_author_who_states_each_demand_and_plans_each_goal_is_proved(name, tmp_path):
    """So the word can be had, with `strict` too."""
    text = TEXTS[name]
    requirements = [stated(each.kind, each.quote) for each in read_demands(text).demands]
    goals = [item for item in requirements if item["kind"] == "goal"]
    if not goals:
        goals = [stated("goal", sentences(text)[0])]
        requirements += goals
    result = run(tmp_path, text, {**RECON, "requirements": requirements}, plan_of(requirements, goals), strict=True)
    check_words(result)
    assert result.proved
    assert {row.standing for row in result.demands.rows} <= {
        DemandStanding.IN_STEP,
        DemandStanding.DECLARED,
        DemandStanding.CHECKED,
    }
