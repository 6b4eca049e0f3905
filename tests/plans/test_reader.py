"""Reading a plan: defaults, complete findings, and that it accepts any JSON value."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.plans.plan import Invariant, NamedOutcome, Plan, Step, plan_to_json
from actors.plans.reader import plan_schema, read_plan
from actors.values.findings import Code
from actors.values.requirements import Requirement
from tests.plans.build import plan, step
from tests.plans.strategies import plans, plans_with_outcomes, policies

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def findings_of(value):
    """Return the findings as (code, where)."""
    return [(str(finding.code), finding.where) for finding in read_plan(value)[1]]


def test_the_oldest_plans_load_with_defaults():
    read, findings = read_plan({"plan_id": "old", "steps": [{"step_id": "a"}]})
    assert findings == ()
    assert read == Plan("old", (Step("a", name="a", retry_budget=3),), total_retry_budget=10)


def test_a_missing_plan_id_is_only_a_warning():
    read, findings = read_plan({"steps": [{"step_id": "a"}]})
    assert read.plan_id == "unknown"
    assert [(finding.code, finding.severity) for finding in findings] == [(Code.MISSING, "warning")]


@given(plans() | policies() | plans_with_outcomes())
def test_writing_and_reading_a_plan_gives_an_equal_plan(value):
    read, findings = read_plan(json.loads(json.dumps(plan_to_json(value))))
    assert findings == ()
    assert read == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], [("field.not_object", "")]),
        (None, [("field.not_object", "")]),
        ("a plan", [("field.not_object", "")]),
        ({"plan_id": "p"}, [("field.missing", "steps")]),
        ({"plan_id": "p", "steps": []}, [("plan.no_steps", "steps")]),
        ({"plan_id": "p", "steps": {"a": 1}}, [("field.type", "steps")]),
        ({"plan_id": "", "steps": [{"step_id": "a"}]}, [("field.empty", "plan_id")]),
        (plan(step("a"), "b"), [("field.not_object", "steps[1]")]),
        (plan({"name": "no id"}), [("field.missing", "steps[0].step_id")]),
        (plan(step("")), [("field.empty", "steps[0].step_id")]),
        (plan(step(7)), [("field.type", "steps[0].step_id"), ("field.type", "steps[0].name")]),
        (plan(step("a", name="")), [("field.empty", "steps[0].name")]),
        (plan(step("a", preconditions="start")), [("field.type", "steps[0].preconditions")]),
        (plan(step("a", dependencies=None)), [("field.type", "steps[0].dependencies")]),
        (
            plan(step("a", preconditions=["ok", 1, None])),
            [
                ("field.type", "steps[0].preconditions[1]"),
                ("field.type", "steps[0].preconditions[2]"),
            ],
        ),
        (plan(step("a", retry_budget="3")), [("field.type", "steps[0].retry_budget")]),
        (plan(step("a", retry_budget=True)), [("field.type", "steps[0].retry_budget")]),
        (plan(step("a", retry_budget=2.0)), [("field.type", "steps[0].retry_budget")]),
        (plan(step("a", repeatable="yes")), [("field.type", "steps[0].repeatable")]),
        (plan(step("a", on_failure=3)), [("field.type", "steps[0].on_failure")]),
        (plan(step("a", guard="")), [("plan.unknown_guard", "a")]),
        (plan(step("a"), total_retry_budget="10"), [("field.type", "total_retry_budget")]),
        (plan(step("a"), invariants={}), [("field.type", "invariants")]),
        (
            plan(step("a"), invariants=[1, {"must": "x"}]),
            [
                ("field.not_object", "invariants[0]"),
                ("field.type", "invariants[1].must"),
            ],
        ),
        (plan(step("a\ud800")), [("field.type", "steps[0].step_id"), ("field.type", "steps[0].name")]),
    ],
)
def test_each_error_is_reported_with_its_path(value, expected):
    """Each structural problem is an error with a path, and then no plan is returned."""
    read, findings = read_plan(value)
    assert read is None
    assert [(str(finding.code), finding.where) for finding in findings if finding.severity == "error"] == expected


def test_every_problem_is_reported_at_once():
    value = plan(step("a", retry_budget="1", preconditions="x"), step("b", effects=[1]), goal_state=3)
    assert [where for _, where in findings_of(value)] == [
        "goal_state",
        "steps[0].retry_budget",
        "steps[0].preconditions",
        "steps[1].effects[0]",
    ]


def test_unknown_keys_are_ignored_with_a_warning():
    read, findings = read_plan(plan(step("a", note="x", depends_on=["y"])) | {"version": 2, "p" * 41: 1})
    assert read is not None
    assert [(finding.code, finding.where, finding.severity) for finding in findings] == [
        (Code.UNKNOWN, where, "warning") for where in ("version", "p" * 41, "steps[0].note", "steps[0].depends_on")
    ]


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("precondition", "preconditions"),
        ("Effects", "effects"),
        ("outcome", "outcomes"),
        ("retry_budgets", "retry_budget"),
    ],
)
def test_a_misspelt_key_is_an_error_that_names_the_right_one(key, near):
    read, findings = read_plan(plan(step("a", **{key: ["x"]})))
    assert read is None
    assert [(finding.code, finding.where) for finding in findings] == [(Code.UNKNOWN, f"steps[0].{key}")]
    assert findings[0].message.endswith(f"did you mean '{near}'?")


def test_a_string_is_never_taken_apart():
    _, findings = read_plan(plan(step("a", preconditions="start")))
    assert 'write ["start"]' in findings[0].message


@given(JSON)
def test_any_json_value_can_be_read(value):
    read, findings = read_plan(value)
    assert (read is None) == any(finding.severity == "error" for finding in findings)


@given(st.dictionaries(st.sampled_from(sorted({*plan(), *step("a"), "invariants", "goal"})), JSON), JSON)
def test_anything_in_any_field_can_be_read(fields, other):
    for value in (fields, plan(fields, other), plan(step("a") | fields, invariants=[other, fields]) | fields):
        read, findings = read_plan(value)
        assert (read is None) == any(finding.severity == "error" for finding in findings)


@given(plans_with_outcomes())
def test_the_schema_describes_whole_plans(value):
    """A plan with every key written out fits the schema, and reads without a finding."""
    whole = plan_to_json(value) | {"goal": "", "invariants": [], "requirements": [], "open_questions": []}
    blank = {"description": "", "delete_effects": [], "failure_effects": [], "failure_delete_effects": []}
    blank |= {"on_failure": "escalate", "repeatable": False, "satisfies": [], "implements": [], "outcomes": []}
    whole["steps"] = [blank | fields for fields in whole["steps"]]
    jsonschema.validate(whole, plan_schema())
    assert read_plan(whole)[1] == ()


def closed_objects(schema):
    if schema.get("type") == "object":
        yield schema
    for inner in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        yield from closed_objects(inner)


def test_the_schema_is_fit_for_strict_output():
    """Every object is closed and requires all its keys: the fields of the values, and the questions of a plan."""
    objects = list(closed_objects(plan_schema()))
    assert all(
        item["additionalProperties"] is False and item["required"] == list(item["properties"]) for item in objects
    )
    fields = [set(kind.__match_args__) for kind in (Plan, Invariant)] + [set(Step._fields) - {"undo"}]
    fields[0].add("open_questions")
    fields[0] -= {"basis"}  # a language model is asked neither for it nor for `undo`, which only a tools file knows
    outcome = set(NamedOutcome._fields)
    stated = set(Requirement._fields) - {"conflicts_with", "limit", "readings"}  # recon states these
    questions = {"question", "type", "choices"}
    assert [set(item["properties"]) for item in objects] == [*fields[:2], stated, fields[2], outcome, questions]


def test_values_are_frozen():
    """A plan cannot change after it was read."""
    with pytest.raises(AttributeError):
        Step("a").name = "b"
