"""Which of several values counts, how far they reach, and where a quote stands in a passage."""

import pytest

from packages.acquire.tests.acquisition.states import BOOT, FULL, hop, number, profile, state
from replan_acquire.acquisition.calculation import known_numbers
from replan_acquire.acquisition.observation import PLACES_MAX, find_quote, read_observation
from replan_acquire.acquisition.planner_state import FoundPassage, Writes, apply
from replan_acquire.acquisition.profile import FieldSpec
from replan_acquire.acquisition.schema import schema_of
from replan_acquire.acquisition.state import ReplyText
from replan_acquire.acquisition.values import choose_value, find_spread, merge_values


def field(**keys):
    return FieldSpec(label="a value", **keys)


def found(*values, **more):
    return tuple(number(value, source=f"doc{place}.md", **more) for place, value in enumerate(values, 1))


def test_a_value_of_the_user_beats_documents():
    values = (*found(1), number(2, via="user"), *found(3, confidence=1.0))
    assert choose_value(field(), values).value == 2
    assert choose_value(field(), (number(2, via="given"), *found(1))).value == 2
    assert choose_value(field(), (number(2, via="default"), *found(1))).value == 1


@pytest.mark.parametrize(
    ("rule", "value"), {"lowest": 10, "highest": 40, "median": 20, "first": 30, "confidence": 20}.items()
)
def test_each_rule_chooses_its_value(rule, value):
    values = (
        number(30, source="a.md", confidence=0.5),
        number(10, source="b.md", confidence=0.3),
        number(20, source="c.md", confidence=0.8),
        number(40, source="d.md", confidence=0.6),
    )
    assert choose_value(field(choose=rule), values).value == value


def test_of_an_even_number_of_values_the_lower_middle_one_is_the_median():
    assert choose_value(field(choose="median"), found(4, 1, 3, 2)).value == 2


def test_a_confidence_of_one_counts_no_more_than_that_of_who_is_sure():
    honest, injected = number(52_400, source="offer.md", confidence=0.85), number(7, source="forum.md", confidence=1.0)
    assert choose_value(field(), (honest, injected)).value == 52_400
    assert find_spread((honest, injected)).low == 7  # It is shown.


def test_sources_that_agree_count_more_than_confidence():
    values = (number(7, source="a.md", confidence=1.0), *found(52_400, 52_400, confidence=0.5))
    assert choose_value(field(), values).value == 52_400


def dated(*pairs):
    return tuple(number(value, source=f"{year}.md", period=year) for value, year in pairs)


def test_the_latest_year_counts_and_the_others_stay_out_of_the_range():
    values = (*dated((0.38, "2023"), (0.29, "2026"), (0.33, "2024")), *found(0.30))
    assert choose_value(field(choose="lowest"), values).value == 0.29
    known = known_numbers(schema_of(state(values={**BOOT, "market.shops": values})))["market.shops"]
    assert (known.range.low, known.range.high) == (0.29, 0.30)
    assert choose_value(field(period="any", choose="highest"), values).value == 0.38
    assert choose_value(field(period="2024", choose="highest"), values).value == 0.33
    assert choose_value(field(period="2022"), dated((0.38, "2023"))) is None


def test_the_same_number_of_two_years_is_kept_twice():
    assert len(merge_values((), dated((1, "2023"), (1, "2024")))) == 2
    one = number(1, source="a.md", period="2023", quote="one")
    assert len(merge_values((), (one, one.model_copy(update={"quote": "two"})))) == 1


def observed(quote, *, source="a.md", value="40", spec=None, passages=None):
    texts = passages or {"a.md": "There are 40 shops.", "b.md": "There are 50 shops."}
    seen = tuple(FoundPassage(source=name, text=text, language="en") for name, text in texts.items())
    at = state("observe", BOOT, spec=spec, last_observation=seen)
    given = f'{{"field": "market.shops", "value": "{value}", "quote": "{quote}", "source": "{source}"}}'
    return read_observation(ReplyText("observe/v1.a1", "", f'{{"values": [{given}]}}', ended_early=False), at)


def test_a_document_value_outside_of_the_bounds_of_its_field_is_not_taken():
    shops = {"label": "number of shops", "unit": "shop", "words": ["shops"]}
    for bounds in ({"maximum": 39}, {"minimum": 41}):
        spec = profile(fields={**{name: profile().fields[name] for name in BOOT}, "market.shops": {**shops, **bounds}},
                       calculator=None)  # fmt: skip
        [rejection] = observed("There are 40 shops", spec=spec).rejections
        assert rejection.code == "out_of_bounds"
    assert observed("There are 40 shops").values[0][1].value == 40


def test_the_other_rows_of_a_table_are_within_the_bounds_of_the_field_too():
    rows = {"a.md": "year: 2023 | shops: 40 shops\nyear: 2024 | shops: 90 shops"}
    fields = {**profile().fields, "market.shops": {"label": "number of shops", "unit": "shop", "maximum": 50}}
    bounded = observed("shops: 40 shops", spec=profile(fields=fields), passages=rows)
    assert [value.value for _, value in bounded.values] == [40]
    assert [value.value for _, value in observed("shops: 40 shops", passages=rows).values] == [40, 90]


def test_a_quote_of_another_source_than_the_one_that_is_named_is_not_taken():
    [rejection] = observed("There are 40 shops", source="b.md").rejections
    assert (rejection.code, rejection.message) == ("missing_evidence", "the source does not contain the quote")


def test_a_quote_that_leaves_the_unit_out_is_not_taken_and_the_message_says_what_to_quote():
    [rejection] = observed("There are 40").rejections
    assert rejection.code == "quote_cut"
    assert (
        rejection.message == "the quote has only a part of '40 shops'; it must have the number with its scale and unit"
    )


def test_the_same_rejection_is_listed_once_with_its_count():
    [rejection] = observed("There are 99 shops").rejections
    at = state()
    planner = apply(apply(at.planner, Writes(rejections=(rejection, rejection))), Writes(rejections=(rejection,)))
    assert [each.count for each in planner.rejections] == [3]


PEOPLE = "market.visits.people"


def test_a_precondition_that_does_not_hold_blocks_the_calculation():
    check = {"check": f"{PEOPLE} <= 9", "why": "more people than there can be"}
    spec = profile(calculator={**profile().calculator.model_dump(), "preconditions": [check]})
    answer, _ = hop(state("calculate", FULL, spec=spec))
    assert answer.outcome == "blocked"
    assert [error.code for error in answer.writes.calculation.errors] == ["precondition"]
    assert hop(state("calculate", {**FULL, PEOPLE: number(9)}, spec=spec))[0].outcome == "succeeded"


def test_a_stop_condition_ends_the_run_as_soon_as_its_fields_have_values():
    spec = profile(stop_when=[{"check": f"{PEOPLE} >= 10", "why": "enough"}])
    assert hop(state("prepare_schema", FULL, spec=spec))[1] == "finish"
    assert hop(state("prepare_schema", {**FULL, PEOPLE: number(9)}, spec=spec))[0].outcome == "ready"


@pytest.mark.parametrize("count", [0, 1, PLACES_MAX, PLACES_MAX + 5])
def test_a_quote_is_looked_at_where_it_stands_first_and_at_a_limited_number_of_places(count):
    assert find_quote("12 EUR " * count, "eur") == tuple((7 * at + 3, 7 * at + 6) for at in range(count))[:PLACES_MAX]
