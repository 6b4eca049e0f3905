"""The books: what a reservation, a settlement, a refund and a forfeit do to each limit."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import ValidationError

from runtime.core.ledger import ZERO, Amount, Ledger, Limit, Limits, Price, Usage, cost_of_call

CALL = Amount(calls=1, tokens=100, micro_usd=50)
PRICE = Price(input_per_token_usd=2e-6, output_per_token_usd=8e-6)


def books(**limits):
    return Ledger(Limits(**limits))


@pytest.mark.parametrize(
    ("limits", "short"),
    [
        ({"calls": 1}, Limit.CALLS),
        ({"tokens": 199}, Limit.TOKENS),
        ({"micro_usd": 99}, Limit.COST),
        ({"deadline": 10.0}, Limit.DEADLINE),
        ({"calls": 2, "tokens": 200, "micro_usd": 100, "deadline": 10.5}, None),
    ],
)
def test_the_limit_that_a_reservation_would_pass_is_named(limits, short):
    """S25: checked before each call, with what is reserved counted."""
    assert books(**limits).reserve("a", CALL).shortfall(CALL, now=10.0) is short


def test_a_settlement_gives_back_what_was_not_used():
    ledger = books(tokens=150).reserve("a", CALL)
    assert ledger.shortfall(CALL, 0.0) is Limit.TOKENS
    settled = ledger.settle("a", Amount(calls=1, tokens=20, micro_usd=3))
    assert settled.committed == Amount(calls=1, tokens=20, micro_usd=3)
    assert settled.shortfall(CALL, 0.0) is None


def test_a_refund_is_as_if_nothing_had_been_asked():
    assert books().reserve("a", CALL).refund("a") == books()


def test_what_may_have_been_charged_stays_charged_until_a_late_reply_says_what_it_was():
    unknown = books().reserve("a", CALL).forfeit("a")
    assert (unknown.unknown, unknown.committed, unknown.reserved) == (CALL, CALL, {})
    late = unknown.settle("a", Amount(calls=1, tokens=30, micro_usd=7))
    assert (late.unknown, late.forfeited) == (ZERO, {})
    assert late.spent == Amount(calls=1, tokens=30, micro_usd=7)


def test_forfeiting_twice_or_what_was_never_reserved_changes_nothing():
    once = books().reserve("a", CALL).forfeit("a")
    assert once.forfeit("a") == once
    assert books().forfeit("b") == books()


def test_a_reply_without_usage_costs_what_was_reserved():
    assert cost_of_call(None, CALL, PRICE) == CALL


def test_a_reply_with_usage_costs_what_it_says():
    assert cost_of_call(Usage(input_tokens=10, output_tokens=5), CALL, PRICE) == Amount(
        calls=1, tokens=15, micro_usd=60
    )
    assert cost_of_call(Usage(input_tokens=10, output_tokens=5), CALL, None).micro_usd == 0


def test_a_usage_that_makes_no_sense_does_not_pay_the_run():
    assert cost_of_call(Usage(input_tokens=-10_000, output_tokens=5), CALL, PRICE) == CALL


def test_a_step_without_a_model_call_costs_no_call():
    assert cost_of_call(None, ZERO, PRICE) == ZERO


@given(
    some.integers(0, 10**7),
    some.integers(0, 10**6),
    some.decimals(0, 200, places=4, allow_nan=False),
    some.decimals(0, 200, places=4, allow_nan=False),
)
def test_money_is_exact(inputs, outputs, per_million_in, per_million_out):
    """Whole micro-dollars, rounded up from the exact product: a dollar per million tokens is one micro-dollar each."""
    price = Price(input_per_token_usd=float(per_million_in) / 1e6, output_per_token_usd=float(per_million_out) / 1e6)
    exact = Fraction(per_million_in) * inputs + Fraction(per_million_out) * outputs
    micro = -(-exact.numerator // exact.denominator)
    assert price.micro_usd_at_most(inputs, outputs) == micro
    assert price.micro_usd(Usage(input_tokens=inputs, output_tokens=outputs)) == micro


@pytest.mark.parametrize(
    "wrong", [{"calls": 0}, {"tokens": 0}, {"active_seconds": float("inf")}, {"deadline": float("nan")}]
)
def test_a_limit_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValidationError):
        Limits(**wrong)


def test_active_time_runs_out():
    ledger = books(active_seconds=4.0).add_work(3.5)
    assert (ledger.active_left, ledger.shortfall(ZERO, 0.0)) == (0.5, None)
    assert ledger.add_work(0.5).shortfall(ZERO, 0.0) is Limit.ACTIVE_TIME
    assert ledger.add_work(9.0).active_left == 0.0
