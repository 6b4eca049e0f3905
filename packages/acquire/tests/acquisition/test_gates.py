"""Each gate alone: states in, outcome and writes out. No reply of a model is scripted (S81), and nothing is changed."""

import dataclasses

import pytest

from packages.acquire.tests.acquisition.states import (
    BOOT,
    DIRECT,
    FULL,
    blocked,
    decide,
    hop,
    number,
    profile,
    searched,
    state,
    text,
)
from replan_acquire.acquisition.calculation import hash_inputs
from replan_acquire.acquisition.gates import compose_values
from replan_acquire.acquisition.planner_state import (
    LatestCalculation,
    PlannerState,
    Reflection,
    Writes,
    apply,
    names_of_writes,
)
from replan_acquire.acquisition.schema import schema_of

ALL_SEARCHED = tuple(
    search
    for path in ("market.shops", "market.visits.people", "market.visits.rate")
    for search in searched(path, "a query")
)
"""A search for each field that documents may have."""


def with_composed(before):
    """Return the state with all values that follow from others, as `prepare_schema` leaves it."""
    writes = Writes(composed=compose_values(before, schema_of(before)))
    return dataclasses.replace(before, planner=apply(before.planner, writes))


def hash_of(values, **fields):
    return hash_inputs(schema_of(state(values=values, **fields)))


class Unreadable:
    """Raises on any access: whoever looks at it has read what it must not."""

    def __getattr__(self, name):
        raise AssertionError(f"{name} was read")


def test_s52_enter_iteration_adds_exactly_one():
    for before in (0, 3):
        answer, _ = hop(state("enter_iteration", iterations=before))
        assert answer.writes.iterations == before + 1
        assert names_of_writes(answer.writes) == {"iterations"}


def test_s53_to_s55_enter_iteration_finishes_an_aborted_run_and_at_the_cap_and_says_its_step():
    assert hop(state("enter_iteration", status="aborted"))[1] == "finish"
    assert hop(state("enter_iteration", iterations=8))[1] == "prepare_schema"
    assert hop(state("enter_iteration", iterations=9))[1] == "finish"
    assert hop(state("enter_iteration", iterations=4))[0].reason == "planning step 5"


def test_s56_enter_iteration_reads_no_schema_calculation_or_decision():
    seen = state("enter_iteration")
    hidden = {each.name: Unreadable() for each in dataclasses.fields(PlannerState)}
    planner = PlannerState(**{**hidden, "iterations": 0, "status": "active"})
    assert hop(dataclasses.replace(seen, planner=planner))[1] == "prepare_schema"


def test_s59_prepare_schema_composes_ready_components():
    answer, after = hop(state("prepare_schema", FULL))
    [value] = answer.writes.composed["market.visits"]
    assert (value.value, value.unit, value.via) == (30.0, "1/year", "computed")
    assert after == "acquisition_gate"
    lacking = hop(state("prepare_schema", {**DIRECT, "market.visits.people": number(10)}))[0]
    assert lacking.writes.composed == {}


def test_s60_prepare_schema_writes_only_what_has_changed():
    once = with_composed(state("prepare_schema", FULL))
    answer, _ = hop(once)
    assert names_of_writes(answer.writes) == set()
    assert answer.reason == "nothing to update"


def test_s61_the_cap_of_calculations_and_a_current_calculation_finish():
    answer, after = hop(state("prepare_schema", BOOT, calculation=blocked("old", count=2)))
    assert (answer.outcome, after) == ("calculator_cap", "finish")
    done = with_composed(state("prepare_schema", FULL))
    current = LatestCalculation(status="succeeded", count=1, inputs_hash=hash_inputs(schema_of(done)))
    answer, after = hop(dataclasses.replace(done, planner=dataclasses.replace(done.planner, calculation=current)))
    assert (answer.outcome, after) == ("already_current", "finish")
    assert hop(state("prepare_schema", {}, calculation=blocked("old", count=2)))[0].outcome == "calculator_cap"


def test_s63_region_is_asked_before_currency():
    assert hop(state("prepare_schema"))[1] == "require_region"
    assert hop(state("prepare_schema", {"core.region": text("Portugal")}))[1] == "require_currency"
    assert hop(state("prepare_schema", BOOT))[1] == "acquisition_gate"


@pytest.mark.parametrize(("node", "path"), [("require_region", "core.region"), ("require_currency", "core.currency")])
def test_s62_and_s63_a_bootstrap_field_is_asked_while_attempts_remain(node, path):
    answer, after = hop(state(node, asked=(path,)))
    assert (after, answer.writes.decision.action, answer.writes.decision.target_field) == ("ask_user", "ask_user", path)
    answer, after = hop(state(node, asked=(path, path)))
    assert (after, answer.writes.status, answer.writes.decision.action) == ("finish", "aborted", "finish")
    assert hop(state(node, refused=(path,)))[1] == "finish"


def test_s64_a_blocked_calculation_picks_the_fields_of_its_errors_first_while_its_values_are_the_same():
    answer, after = hop(state("acquisition_gate", DIRECT, calculation=blocked(hash_of(DIRECT), "market.price")))
    assert answer.writes.decision.target_field == "market.price"
    assert (answer.writes.decision.action, after) == ("ask_user", "normalize_decision")
    answer, _ = hop(state("acquisition_gate", DIRECT, calculation=blocked("of other values", "market.price")))
    assert answer.writes.decision.target_field == "market.visits.people"


def test_s65_without_a_missing_field_the_next_component_is_a_task():
    answer, after = hop(state("acquisition_gate", DIRECT))
    decision = answer.writes.decision
    assert (decision.action, decision.target_field) == ("search", "market.visits.people")
    assert (answer.outcome, after) == ("task", "normalize_decision")


def test_s66_with_all_raw_inputs_the_gate_finishes():
    answer, after = hop(with_composed(state("acquisition_gate", FULL, searches=ALL_SEARCHED)))
    assert (answer.writes.decision.action, answer.writes.decision.reasoning) == ("finish", "All raw inputs collected.")
    assert (answer.outcome, after) == ("all_collected", "maybe_calculate")


def test_s67_otherwise_the_model_decides():
    answer, after = hop(state("acquisition_gate", BOOT))
    assert (answer.outcome, after, names_of_writes(answer.writes)) == ("undecided", "plan", set())


def test_a_missing_field_without_attempts_asks_no_model():
    tried = {"searches": searched("market.shops", "a", "b"), "asked": ("market.shops",) * 2}
    values = {path: value for path, value in FULL.items() if path != "market.shops"}
    answer, after = hop(state("acquisition_gate", values, **tried))
    assert (answer.writes.decision.action, answer.writes.decision.target_field) == ("ask_user", "market.shops")
    assert after == "normalize_decision"


def test_s71_a_target_that_is_made_of_others_becomes_a_component_task():
    for action in ("search", "ask_user"):
        at = state("normalize_decision", DIRECT, decision=decide(action, "market.visits", query="visits"))
        answer, _ = hop(at)
        assert answer.writes.decision.action == "search"
        assert answer.writes.decision.target_field == "market.visits.people"


def test_s71_a_derived_field_becomes_a_task_for_what_its_formula_needs():
    fields = dict(profile().model_dump(exclude_defaults=True)["fields"])
    fields["market.value"] = {
        "label": "value",
        "unit": "{core.currency}",
        "source": "derived",
        "formula": "market.shops * market.price",
    }
    at = state("normalize_decision", BOOT, spec=profile(fields=fields), decision=decide("ask_user", "market.value"))
    assert hop(at)[0].writes.decision.target_field == "market.shops"


def test_s72_a_field_of_documents_is_searched_for_before_the_user_is_asked():
    answer, _ = hop(state("normalize_decision", BOOT, decision=decide("ask_user", "market.shops")))
    assert (answer.writes.decision.action, answer.writes.decision.query) == ("search", "shops Portugal")
    tried = searched("market.shops", "shops")
    answer, _ = hop(state("normalize_decision", BOOT, decision=decide("ask_user", "market.shops"), searches=tried))
    assert answer.outcome == "kept"
    assert hop(state("normalize_decision", BOOT, decision=decide("ask_user", "market.price")))[0].outcome == "kept"


def test_s74_a_question_says_what_blocks_the_calculation_once():
    calculation = blocked(hash_of(DIRECT), "market.price", message="adds EUR with USD")
    at = state("normalize_decision", DIRECT, decision=decide("ask_user", "market.price"), calculation=calculation)
    answer, _ = hop(at)
    question = answer.writes.decision.question
    assert question == "The calculation is blocked: adds EUR with USD.\nWhat is the price per shop?"
    again = dataclasses.replace(at, planner=apply(at.planner, answer.writes))
    assert hop(again)[0].outcome == "kept"


PRICED = ("market.shops",) * 2
OTHERS = tuple(path for path in FULL if path not in BOOT) * 2


@pytest.mark.parametrize(
    ("path", "values", "queries", "asked", "decided"),
    [
        ("market.shops", BOOT, ["C  C"], (), ("ask_user", "market.shops")),
        ("market.visits.people", DIRECT, ["a", "b"], (), ("ask_user", "market.visits.people")),
        ("market.shops", BOOT, ["a", "b"], PRICED, ("ask_user", "market.visits.people")),
        ("market.shops", BOOT, ["a", "b"], OTHERS, ("reflect", "market.shops")),
    ],
    ids=["a repeated query", "more searches than the cap", "a field that was asked too", "nothing left to ask"],
)
def test_s75_a_search_without_attempts_becomes_a_question_or_a_review(path, values, queries, asked, decided):
    decision = decide("search", path, query="c c")
    answer, _ = hop(state("retry_gate", values, decision=decision, searches=searched(path, *queries), asked=asked))
    assert (answer.writes.decision.action, answer.writes.decision.target_field) == decided


def test_s76_more_questions_than_the_cap_abort():
    at = state("retry_gate", BOOT, decision=decide("ask_user", "market.price"), asked=("market.price",) * 2)
    answer, after = hop(at)
    assert (answer.writes.decision.action, answer.writes.status, after) == ("finish", "aborted", "maybe_calculate")


@pytest.mark.parametrize(
    "decision",
    [
        decide("search", "market.shops", query="shops"),
        decide("ask_user", "market.price"),
        decide("reflect"),
        decide("calculate"),
        decide("finish"),
    ],
)
def test_s77_other_decisions_pass_the_retry_gate_unchanged(decision):
    answer, after = hop(state("retry_gate", BOOT, decision=decision))
    assert (answer.outcome, after, names_of_writes(answer.writes)) == ("kept", "maybe_calculate", set())


@pytest.mark.parametrize("origin", ["deterministic", "llm", "llm_error"])
@pytest.mark.parametrize("status", ["active", "aborted"])
def test_s78_a_finish_without_a_calculation_becomes_one(origin, status):
    at = state("maybe_calculate", BOOT, decision=decide("finish"), decision_origin=origin, status=status)
    answer, after = hop(at)
    assert (answer.writes.decision.action, after) == ("calculate", "calculate")


def test_s78_a_finish_at_the_cap_or_without_changed_values_becomes_none():
    same = blocked(hash_of(BOOT), "market.price")
    at = state("maybe_calculate", BOOT, decision=decide("finish"), calculation=same, decision_origin="llm_error")
    assert hop(at)[1] == "finish"
    changed = state("maybe_calculate", BOOT, decision=decide("finish"), calculation=blocked("other values"))
    assert hop(changed)[1] == "calculate"
    capped = state("maybe_calculate", BOOT, decision=decide("finish"), calculation=blocked("other values", count=2))
    assert hop(capped)[1] in ("finish", "reflect")
    assert hop(state("maybe_calculate", BOOT, decision=decide("finish"), spec=profile(calculator=None)))[1] == "finish"


def test_s79_a_finish_with_a_blocked_calculation_is_reviewed_twice_at_most_unless_the_model_failed():
    inputs = hash_of(BOOT)
    fields = {"decision": decide("finish"), "calculation": blocked(inputs, "market.price")}
    review = Reflection(inputs_hash=inputs)
    assert hop(state("maybe_calculate", BOOT, **fields))[1] == "reflect"
    assert hop(state("maybe_calculate", BOOT, **fields, reflections=(review,)))[1] == "reflect"
    assert hop(state("maybe_calculate", BOOT, **fields, reflections=(review, review)))[1] == "finish"
    assert hop(state("maybe_calculate", BOOT, **fields, decision_origin="llm_error"))[1] == "finish"
    assert hop(state("maybe_calculate", BOOT, **fields, status="aborted"))[1] == "finish"
    done = review.model_copy(update={"finish": True})
    assert hop(state("maybe_calculate", BOOT, **fields, reflections=(done,)))[1] == "finish"


@pytest.mark.parametrize("action", ["search", "ask_user", "reflect", "calculate", "finish"])
def test_s80_each_decision_has_exactly_one_route(action):
    _, after = hop(state("maybe_calculate", BOOT, decision=decide(action, "market.shops")))
    assert after == ("calculate" if action == "finish" else action)


def test_s83_a_gate_changes_nothing_and_answers_the_same_again():
    at = state("prepare_schema", FULL)
    before = dataclasses.replace(at.planner, values=dict(at.planner.values))
    assert hop(at) == hop(at)
    assert at.planner == before


def test_s86_recipes_are_rebuilt_and_not_part_of_the_state():
    names = {each.name for each in dataclasses.fields(PlannerState)}
    assert not names & {"recipes", "prepared_recipes", "schema", "route_reason"}
