"""What a message may change of a run: `strict`, which a run can only become, and only where it makes a plan."""

import pytest

from actors.run.settings import NEVER_STRICT, change_of, message_for_children
from actors.run.state import RunState
from runtime.core.copies import changed
from runtime.core.errors import UsageProblem
from runtime.core.ledger import COUNTED, Amount, Ledger, Limits

LEDGER = Ledger(Limits(calls=3))


def test_a_run_of_a_kind_that_says_nothing_about_it_cannot_become_strict():
    with pytest.raises(UsageProblem, match=NEVER_STRICT) as refused:
        change_of(LEDGER, {"strict": True}, 0.0, never_strict=RunState().never_strict)
    assert refused.value.place == "strict"


@pytest.mark.parametrize("value", [False, "yes", 1, 0])
def test_a_run_can_only_become_strict(value):
    with pytest.raises(UsageProblem, match="`strict` cannot be switched off"):
        change_of(LEDGER, {"strict": value}, 0.0, never_strict="")


def test_becoming_strict_changes_nothing_else_and_is_not_passed_on_to_child_runs():
    event = change_of(LEDGER, {"strict": True}, 0.0, never_strict="")
    assert (event.strict, event.limits, event.model) == (True, None, None)
    assert message_for_children({}, LEDGER, event) == {}


FULL = Limits(calls=3, tokens=100, micro_usd=50, active_seconds=9.0, deadline=70.0, stop_below=0.01)
SPENT = Ledger(FULL, spent=Amount(calls=2, tokens=40, micro_usd=20), active=4.0)


@pytest.mark.parametrize(
    ("body", "place", "text"),
    [
        ({"callz": 3}, "callz", "there is no such limit"),
        ({}, "", "the message changes nothing"),
        ({"model": ""}, "model", "a model's name must have 1 to 300 characters"),
        ({"model": "m" * 301}, "model", "a model's name must have 1 to 300 characters"),
        ({"model": 3}, "model", "a model's name must have 1 to 300 characters"),
        *(
            ({"timeout_seconds": value}, "timeout_seconds", "the limit must be a number above 0, at most 86,400")
            for value in (0, -1, 86_400.5, True, "9")
        ),
        *(
            (
                {"output_tokens_max": value},
                "output_tokens_max",
                "the limit must be a whole number above 0, at most 1,000,000",
            )
            for value in (0, 1_000_001, 1.5, True, "9")
        ),
        ({"stop_below": None}, "stop_below", "the value must be a number from 0 to 1"),
        ({"calls": 2}, "calls", "the run has already used 2 calls, and the new limit is 2"),
        ({"tokens": 40}, "tokens", "the run has already used 40 tokens, and the new limit is 40"),
        ({"micro_usd": 20}, "micro_usd", "the run has already used 20 micro-dollars, and the new limit is 20"),
        (
            {"active_seconds": 4.0},
            "active_seconds",
            "the run has already used 4 active seconds, and the new limit is 4",
        ),
        ({"deadline": 60.0}, "deadline", "the deadline has passed already"),
        ({"calls": "many"}, "calls", "valid integer"),
    ],
)
def test_a_change_that_is_not_valid_names_its_key_and_why(body, place, text):
    with pytest.raises(UsageProblem) as refused:
        change_of(SPENT, {"kind": "change", **body} if "calls" not in body else body, 60.0)
    assert refused.value.place == place
    assert text in refused.value.cause


@pytest.mark.parametrize(
    ("body", "field", "value"),
    [
        ({"model": "m" * 300}, "model", "m" * 300),
        ({"timeout_seconds": 86_400}, "timeout_seconds", 86_400),
        ({"timeout_seconds": 0.1}, "timeout_seconds", 0.1),
        ({"output_tokens_max": 1_000_000}, "output_tokens_max", 1_000_000),
        ({"output_tokens_max": 1}, "output_tokens_max", 1),
        ({"calls": 4}, "limits", FULL.model_copy(update={"calls": 4})),
        ({"tokens": 41}, "limits", FULL.model_copy(update={"tokens": 41})),
        ({"tokens": None}, "limits", FULL.model_copy(update={"tokens": None})),
        ({"deadline": 60.5}, "limits", FULL.model_copy(update={"deadline": 60.5})),
        ({"stop_below": 0.0}, "limits", FULL.model_copy(update={"stop_below": 0.0})),
    ],
)
def test_a_valid_change_is_taken_and_changes_nothing_else(body, field, value):
    event = change_of(SPENT, body, 60.0, 2.0)
    assert getattr(event, field) == value
    others = {"limits", "model", "price", "timeout_seconds", "output_tokens_max"} - {field}
    assert {getattr(event, name) for name in others} == {None}
    assert (event.at, event.mono, event.strict) == (60.0, 2.0, False)


def test_a_run_that_weighs_no_moves_has_no_limit_to_stop_below():
    with pytest.raises(UsageProblem, match="has no belief") as refused:
        change_of(LEDGER, {"stop_below": 0}, 0.0)
    assert refused.value.place == "stop_below"
    with pytest.raises(UsageProblem, match="has no belief"):
        change_of(LEDGER, {"stop_below": 0.5, "calls": 9}, 0.0)
    assert change_of(LEDGER, {"stop_below": 0, "calls": 9}, 0.0).limits == Limits(calls=9)


@pytest.mark.parametrize("field", sorted(Limits.model_fields.keys() - {"patience_seconds", "stop_below", "at_limit"}))
def test_every_limit_that_is_used_up_is_refused_when_it_is_reached_already(field):
    """A new field of `Limits` needs a member of `Limit`, unless the run uses nothing of it up."""
    used = Ledger(FULL, spent=Amount(**{limit.key: 2 for limit in COUNTED}), active=2.0)
    with pytest.raises(UsageProblem, match=r"already") as refused:
        change_of(used, {field: 1}, 2.0)
    assert refused.value.place == field


def test_the_runs_below_get_what_is_reserved_for_no_one():
    event = change_of(SPENT, {"deadline": 99.0, "patience_seconds": 5.0, "stop_below": 0.0, "calls": 9}, 60.0)
    assert message_for_children({}, SPENT, event) == {
        "kind": "change",
        "deadline": 99.0,
        "patience_seconds": 5.0,
        "stop_below": 0.0,
    }
    assert message_for_children({}, changed(SPENT, limits=event.limits), event) == {}
    price = {"input_per_token_usd": 1.0, "output_per_token_usd": 2.0}
    told = change_of(SPENT, {"model": "m", "price": price, "timeout_seconds": 3, "output_tokens_max": 4}, 60.0)
    below = message_for_children({"deadline": 99.0}, SPENT, told)
    assert (below["deadline"], below["model"], below["timeout_seconds"], below["output_tokens_max"]) == (
        99.0,
        "m",
        3,
        4,
    )
    assert below["price"]["input_per_token_usd"] == 1.0
    assert message_for_children({}, SPENT, change_of(SPENT, {"model": "m"}, 60.0)) == {
        "kind": "change", "model": "m", "price": None,
    }  # fmt: skip
