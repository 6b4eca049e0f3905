"""The table of demands: which requirement stands for which sentence of the user, and what the plan does about it."""

import pytest

from actors.demands import reader
from actors.demands.table import DemandStanding, demand_table, standing_text, table_lines
from actors.demands.user_texts import HOLDS, KEPT_LENGTH_MAX, NEITHER, READING, demands_of, problem_demands, user_texts
from actors.plans.reader import read_plan
from actors.values.artifacts import Clarified
from actors.values.requirements import requirement_id

STACK = """We can't just raise pool_size. Rollback to 1.4 is not possible.
The workers must release their sessions after each task. It must be done before Friday.
"""
GOAL = "The workers must release their sessions after each task"
RAISE, ROLLBACK, FRIDAY = (
    "We can't just raise pool_size",
    "Rollback to 1.4 is not possible",
    "It must be done before Friday",
)


def requirement(kind, quote, **more):
    """Return one requirement as an author states it; its text says nothing."""
    return {"id": requirement_id(quote), "kind": kind, "text": "t", "quote": quote, "source": "problem", **more}


def plan(*requirements, satisfies=None):
    """Return a plan of one step that makes the goal, and of one that nothing needs."""
    ids = [item["id"] for item in requirements] if satisfies is None else satisfies
    step = {"step_id": "x", "generator": "coder", "guard": "syntax", "preconditions": ["begun"], "effects": ["done"]}
    idle = {**step, "step_id": "idle", "effects": ["noise"], "satisfies": [item["id"] for item in requirements]}
    value = {
        "plan_id": "p",
        "initial_state": ["begun"],
        "goal_state": ["done"],
        "requirements": list(requirements),
        "steps": [{**step, "satisfies": ids}, idle],
    }
    return read_plan(value)[0]


def standings(text, value, **more):
    """Return what the table says of each quote."""
    return {row.quote: standing_text(row) for row in demand_table(user_texts(text, **more), value).rows}


def test_a_plan_without_requirements_leaves_every_demand_in_no_step():
    table = demand_table(user_texts(STACK), plan())
    assert [row.quote for row in table.in_no_step] == [RAISE, ROLLBACK, GOAL, FRIDAY]
    assert not table.complete
    assert {row.requirement for row in table.rows} == {None}


def test_a_demand_has_one_of_four_standings():
    value = plan(
        requirement("must_avoid", RAISE, tools=["raise pool_size"]),
        requirement("scope", ROLLBACK),
        requirement("goal", GOAL, tokens=["done"]),
        satisfies=[requirement_id(GOAL)],
    )
    assert standings(STACK, value) == {
        RAISE: "checked by requirements_covered",
        ROLLBACK: "declared, not checked",
        GOAL: "in step x",
        FRIDAY: "in no step",
    }


def test_a_goal_that_the_author_calls_scope_is_in_no_step():
    """The reader's kind counts too; what no step can take up, such as a deadline, needs only be declared."""
    value = plan(requirement("scope", GOAL), requirement("scope", FRIDAY), satisfies=[])
    found = standings(STACK, value)
    assert (found[GOAL], found[FRIDAY]) == ("in no step", "declared, not checked")


def test_what_only_a_step_that_nothing_needs_satisfies_is_in_no_step():
    goal = requirement("goal", GOAL, tokens=["done"])
    assert standings(STACK, plan(goal, satisfies=[]))[GOAL] == "in no step"
    assert standings(STACK, plan(requirement("must_keep", GOAL), satisfies=[]))[GOAL] != "in step idle"


def test_a_forbidden_tool_that_the_text_does_not_name_checks_nothing():
    """Else an author could forbid a tool that nobody has, and call the sentence checked."""
    value = plan(requirement("must_avoid", RAISE, tools=["telepathy"]), satisfies=[])
    assert standings(STACK, value)[RAISE] == "declared, not checked"


def test_a_plan_that_breaks_a_prohibition_leaves_it_in_no_step():
    text = "Never use syntax."
    assert standings(text, plan(requirement("must_avoid", text, tools=["syntax"]))) == {
        "Never use syntax": "in no step"
    }


@pytest.mark.parametrize(
    "quote",
    [
        "the workers must  release\n their SESSIONS after each task.",
        "release their sessions",
        "must release their sessions after each task. It must",
    ],
)
def test_a_quote_stands_for_the_sentence_that_it_is_part_of_or_contains(quote):
    """Case, white space and punctuation do not matter."""
    value = plan(requirement("goal", quote, tokens=["done"]))
    assert standings(STACK, value)[GOAL] == "in step x"


@pytest.mark.parametrize("quote", ["elease their sessions after each tas", "their", "sessions are released", "…"])
def test_half_a_word_a_single_word_or_other_words_stand_for_nothing(quote):
    assert standings(STACK, plan(requirement("goal", quote, tokens=["done"])))[GOAL] == "in no step"


def test_a_quote_of_the_whole_text_stands_for_one_sentence_of_it():
    """A lazy author cannot answer for all demands by one requirement."""
    found = standings(STACK, plan(requirement("goal", STACK, tokens=["done"])))
    assert sorted(found.values()) == ["in no step", "in no step", "in no step", "in step x"]


def test_a_sentence_may_have_several_requirements():
    text = "The endpoint must return JSON with the id, the name and the price, sorted by name."
    parts = [
        requirement("goal", quote, tokens=["done"])
        for quote in ("return JSON with the id", "the price, sorted by name")
    ]
    assert list(standings(text, plan(*parts)).values()) == ["in step x"]


def test_the_statement_of_a_defect_is_no_demand():
    """The goal that an author makes of it is a requirement, and no row: the user has not asked for the failure."""
    text = "The export is slow."
    value = plan(requirement("goal", "export is slow", tokens=["done"]), requirement("budget", "slow"), satisfies=[])
    assert standings(text, value) == {}
    assert demand_table(user_texts(text), value).complete


def test_a_requirement_of_the_user_has_a_row_whatever_its_words():
    value = plan(requirement("scope", "psycopg 3.2", source="user"))
    assert standings("Fix the export.", value, later=("psycopg 3.2",)) == {
        "Fix the export": "in no step",
        "psycopg 3.2": "in step x",
    }


def test_where_a_part_of_the_text_was_not_read_the_requirements_of_the_author_are_shown():
    text = "Der Export muss alle Zeilen enthalten und darf nie die letzte verlieren."
    value = plan(requirement("goal", text[:40], tokens=["done"]))
    assert standings(text, value) == {text[:40].strip(): "in step x"}


def test_people_read_first_what_the_plan_leaves_out():
    value = plan(
        requirement("goal", GOAL, tokens=["done"]), requirement("scope", ROLLBACK), satisfies=[requirement_id(GOAL)]
    )
    table = demand_table(user_texts(STACK), value)
    assert [shown.plain for shown in table_lines(table)] == [
        "Demands of the text: 4, 2 in no step, 1 not checked",
        f"   in no step: {RAISE}",
        f"   in no step: {FRIDAY}",
        f"   declared, not checked: {ROLLBACK}",
        f"   in step x: {GOAL}",
    ]
    assert [row.quote for row in table.rows] == [RAISE, ROLLBACK, GOAL, FRIDAY]


def test_what_is_told_later_is_demanded_too():
    found = standings("Fix the export.", plan(), later=("Also bump psycopg to 3.2",))
    assert found["Also bump psycopg to 3.2"] == "in no step"


LOG = "Log all request bodies. Never log request bodies."


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("Log all request bodies", ["Log all request bodies"]),
        ("Never log request bodies", ["Never log request bodies"]),
        ("Both, for now", ["Log all request bodies", "Never log request bodies"]),
        (NEITHER, []),
        ("", ["Log all request bodies", "Never log request bodies"]),
    ],
)
def test_an_answer_to_a_conflict_says_which_demand_is_left(answer, left):
    """The demands of the text are those that agree with the quotes of the question."""
    asked = Clarified(f"{HOLDS}?\n- Log all request bodies\n- Never log request bodies.", answer)
    read = demands_of(user_texts(LOG, clarified=[asked]))
    assert [said.demand.quote for said in read.holding if said.demand.quote in LOG] == left
    assert len(read.dropped) == 2 - len(left)


def test_a_text_in_another_language_is_never_complete():
    table = demand_table(user_texts("Der Export muss alle Zeilen enthalten und darf nie die letzte verlieren."), plan())
    assert table.unread
    assert not table.complete


def test_two_hundred_demands_are_read_and_more_are_said_to_be_left():
    text = "\n".join(f"- The field number{n} must be exported." for n in range(250))
    table = demand_table(user_texts(text), plan())
    assert len(table.rows) == 200
    assert "more than 200" in table.unread[0]


def test_kept_demands_replace_the_reading_of_the_problem_and_of_no_other_text(monkeypatch):
    """The last event of a run keeps the demands of its problem. Views make the same table from them."""
    kept, later = problem_demands(STACK), ("The log must stay.",)
    read = demands_of(user_texts(STACK, later))
    read_text = reader.read_demands
    monkeypatch.setattr(reader, "read_demands", lambda text, source: read_text(text, source) if text in later else None)
    assert demands_of(user_texts(STACK, later, demands=kept)) == read
    assert demands_of(user_texts("", later, demands=kept)).holding[0].demand.quote == "The log must stay"


def test_demands_are_kept_if_a_text_is_short_and_was_read_whole():
    assert problem_demands(STACK)
    assert problem_demands("Nothing happens here.") == ()
    assert problem_demands(STACK + "x" * KEPT_LENGTH_MAX) is None
    assert problem_demands("Das Programm soll nicht mehr so lange auf die Antwort warten.") is None


def test_a_text_that_demands_nothing_has_an_empty_table():
    assert demand_table(user_texts("It is raining today."), plan()).rows == ()
    assert demand_table(user_texts(""), plan()).complete


def test_paths_are_checked_only_where_something_compares_them():
    text = "Do not touch src/legacy/."
    value = plan(requirement("must_avoid", text, paths=["src/legacy/"]), satisfies=[])
    assert [row.standing for row in demand_table(user_texts(text), value).rows] == [DemandStanding.DECLARED]
    (row,) = demand_table(user_texts(text), value, paths_compared_by="the execution").rows
    assert standing_text(row) == "checked by the execution"


def test_a_value_that_nobody_has_given_is_shown_as_open():
    text = "The search must answer within TBD ms."
    for answer, assumed in (("", "'TBD' stays open"), ("200 ms", "")):
        asked = Clarified(f"Which value should replace 'TBD' in the sentence below?\n{text}", answer)
        assert demand_table(user_texts(text, clarified=[asked]), plan()).rows[0].assumed == assumed


def test_a_reading_that_nobody_has_confirmed_is_shown_as_assumed():
    """Also of a requirement that is no demand that the reader has found."""
    for text in (GOAL, "The workers and their sessions."):
        item = requirement("goal", text.rstrip("."), tokens=["done"], readings=["after a task", "at the end"])
        item["text"] = "Release after each task"
        (row,) = demand_table(user_texts(text), plan(item)).rows
        assert row.assumed == "Release after each task"
        lines = table_lines(demand_table(user_texts(text), plan(item)))
        assert any("(assumed: Release after each task)" in line.plain for line in lines)
        question = f"{READING}\n- {item['quote']}"
        for answer, assumed in (("at the end", ""), ("", row.assumed)):
            given = demand_table(user_texts(text, clarified=[Clarified(question, answer)]), plan(item)).rows
            assert [each.assumed for each in given if each.assumed] == ([assumed] if assumed else [])
    item["readings"] = ["the same", "the same"]
    assert not any(row.assumed for row in demand_table(user_texts(text), plan(item)).rows)
