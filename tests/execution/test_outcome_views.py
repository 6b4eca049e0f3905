"""Outcomes, attempts and fields of steps as people see them: in the outline, the checklist and the graph."""

import pytest

from actors.execution.outline import outline_lines, outline_of
from actors.execution.replan_rules import given_facts
from actors.execution.result import outcomes_in, result_of, step_views
from actors.execution.result_lines import checklist_of, step_lines
from actors.execution.views import VIEWS
from actors.plans.reader import read_plan
from actors.run.result import RunView
from actors.tools.output_parsing import ValueSource
from tests.execution.stage import Stage, plan, step, tool, toolset

SIGN = ValueSource(after="owner: ", pattern="[a-z]+")
LOOK = step(
    "look",
    "start",
    "owner",
    delete_effects="start",
    guard="",
    outcomes=[{"name": "red", "effects": ["is_red"]}, {"name": "green", "effects": ["goal"]}],
)
PAINT = step("paint", "is_red owner", "goal", delete_effects="is_red")


def tools():
    look = tool("do_look").model_copy(
        update={"outcomes": {"red": "^red", "green": "^green"}, "values": {"owner": SIGN}}
    )
    paint = tool("do_paint").model_copy(update={"takes": {"owner": "owner"}})
    rest = {name: tool(name) for name in ("do_new",)}
    return toolset({"do_look": look, "do_paint": paint, **rest}, {"syntax": tool("check_syntax")})


def stage(*steps, **fields):
    return Stage(plan(LOOK, PAINT, *steps, **fields), tools())


def test_the_outline_numbers_all_steps_that_outcomes_lead_to():
    outline = outline_of(stage().config)
    assert [(each.step.step_id, each.turn) for each in outline.steps] == [("look", 1), ("paint", 2)]
    lines = [line.plain.strip() for line in outline_lines(outline)]
    assert "tells red or green" in lines
    assert "when  is_red, owner" in lines
    assert "Only after a failure" not in lines
    assert outline.to_json()["steps"][0]["outcomes"] == ["red", "green"]
    assert not any("beside" in line for line in lines)


def test_a_step_that_no_outcome_leads_to_but_a_failure_stays_behind_the_others():
    sad = {**PAINT, "on_failure": "continue", "failure_effects": ["failed"]}
    value = plan(LOOK, sad, step("mend", "failed", "goal", generator="do_new"))
    outline = outline_of(Stage(value, tools()).config)
    assert [(each.step.step_id, each.turn) for each in outline.steps] == [("look", 1), ("paint", 2), ("mend", 0)]


def test_the_outcome_of_a_step_is_shown_in_the_checklist_and_in_the_graph():
    played = stage()
    played.tool("do_look", output="red\nowner: ann")
    shown = {each.step: each for each in step_views(played.state)}
    assert (shown["look"].outcome, shown["look"].to_json()["outcome"]) == ("red", "red")
    assert "outcome" not in shown["paint"].to_json()
    assert "(red, " in next(iter(step_lines(shown["look"]))).plain
    result = result_of(RunView("r", "running", played.state, played.state))
    assert checklist_of(result).items[0].facts[0] == "red"
    flow = VIEWS.flow(played.state, result)
    assert [(edge.begin, edge.end, edge.label, edge.taken) for edge in flow.edges if not edge.recovery] == [
        ("look", "paint", "red", True)
    ]


@pytest.mark.parametrize(
    ("trace", "found"),
    [
        (["look:red", "paint:ok"], {"look": "red"}),
        (["look:red", "look:green"], {"look": "green"}),
        (["look:red", "look:fail"], {}),
        ([], {}),
    ],
)
def test_the_last_success_of_a_step_has_the_outcome(trace, found):
    assert outcomes_in(trace) == found


def test_an_author_is_told_what_results_tell_and_which_values_are_known():
    played = stage()
    played.tool("do_look", output="red\nowner: ann")
    played.tool("do_paint", "permanent", reason="no such program")
    facts = given_facts(played.state, played.state.replan)
    assert facts.shown["results"] == {
        "do_look": {"outcomes": ["red", "green"], "values": ["owner"]},
        "do_paint": {"uses": ["owner"]},
    }
    assert facts.shown["known_values"] == ["owner"]
    assert facts.achieved == ("look:red",)


def test_the_next_plan_may_use_a_value_that_is_known():
    played = stage()
    played.tool("do_look", output="red\nowner: ann")
    played.tool("do_paint", "permanent", reason="no such program")
    again = step("again", "is_red owner", "goal", generator="do_paint")
    played.planned(plan(again, initial="is_red owner"))
    played.proved()
    assert played.state.revision == 2
    [request] = played.work.values()
    assert request.request.arguments == '{"owner":"ann"}'


def test_the_next_plan_may_not_use_a_value_that_is_not():
    value = plan(step("x", "start nothing", "goal", generator="do_paint"), initial="start owner nothing")
    assert "the value of 'owner'" in " ".join(tools().unbound(read_plan(value)[0]))
    assert tools().unbound(read_plan(plan(PAINT, initial="is_red owner"))[0], {"owner"}) == ()


def shown(**fields):
    return list(outline_lines(outline_of(Stage(plan(step("a", "start", "goal", **fields))).config)))


@pytest.mark.parametrize(("name", "title"), [("a", "1. a"), ("Mend the login", "1. a  Mend the login")])
def test_a_step_is_headed_by_its_id_and_by_a_name_that_says_more(name, title):
    assert title in [line.plain for line in shown(name=name)]


def test_a_long_field_of_a_step_goes_on_below_its_text():
    fields = [line for line in shown() if len(line.spans) == 3]
    assert [line.spans[1].text.strip() for line in fields] == ["runs", "check", "tries"]
    assert all(line.hang == len(line.spans[0].text + line.spans[1].text) for line in fields)
