"""A value that a person tells of their own accord: the run calculates anew with it, also after a success."""

import pytest

from packages.acquire.tests.acquisition.stage import GIVEN, Stage, prepared
from replan_acquire.acquisition.answers import make_correction
from replan_acquire.acquisition.kind import CODEC
from runtime.core.errors import UsageProblem
from runtime.core.machine import fold


def done():
    stage = Stage(prepared(given=GIVEN))
    assert stage.finished.outcome == "success"
    return stage


def tell(stage, text):
    return stage.post(**make_correction(stage.state, text))


def som(stage):
    return stage.planner.calculation.steps[-1].value


def test_a_value_that_is_told_reopens_a_finished_run_which_calculates_anew_and_ends_anew():
    stage = done()
    assert som(stage) == 1000
    event = tell(stage, "market.customers = 3000")
    assert (event.kind, event.path) == ("value_told", "market.customers")
    assert stage.finished is not None
    stage.resume()
    assert (stage.finished.outcome, som(stage)) == ("success", 3000)
    assert stage.planner.values["market.customers"][-1].source == "told by the user"
    tell(stage, "segment.win_rate=20 %")
    stage.resume()
    assert (stage.finished.outcome, som(stage)) == ("success", 6000)
    stored = [CODEC.encode(each) for each in stage.events]
    assert fold(stage.machine, [CODEC.decode(each.body, each.texts) for each in stored]) == stage.state


def test_a_finished_run_that_is_told_nothing_stays_finished():
    stage = done()
    stage.resume(at_once=True)
    assert stage.finished.outcome == "success"
    assert stage.post(kind="note", text="Thanks.") is None
    stage.resume(at_once=True)
    assert stage.finished.outcome == "success"


def test_more_corrections_than_calculations_of_one_round_are_taken():
    stage = done()
    for number in range(1, 7):
        tell(stage, f"market.customers={number}000")
        stage.resume()
        assert (stage.finished.outcome, som(stage)) == ("success", number * 1000)


def test_a_value_that_is_told_while_the_run_works_counts_at_once():
    stage = Stage(prepared(given={key: text for key, text in GIVEN.items() if key != "market.customers"}))
    assert stage.request.purpose == "plan"
    tell(stage, "segment.share=25 %")
    stage.plan("ask_user", "market.customers")
    stage.found()
    stage.plan("ask_user", "market.customers")
    stage.answer("1000")
    assert (stage.finished.outcome, som(stage)) == ("success", 500)


BAD = {
    "market.customer=3": r"'market\.customer' is not a field of the profile market_size",
    "market.customers=5 kWh": "kWh cannot be converted into customer",
    "market.customers=-3": "outside the bounds",
    "market.annual_spend=5 EUR per household": "cannot be read",
    "core.currency=USD": "the units of other values depend on core.currency",
}


@pytest.mark.parametrize(("text", "cause"), BAD.items())
def test_a_correction_that_cannot_be_taken_is_an_error_and_the_run_stays(text, cause):
    stage = done()
    with pytest.raises(UsageProblem, match=cause):
        make_correction(stage.state, text)
    path, _, value = text.partition("=")
    assert stage.post(kind="value", field=path, text=value).kind == "mail_refused"
    stage.resume(at_once=True)
    assert (stage.finished.outcome, som(stage)) == ("success", 1000)


def test_a_field_that_a_question_asks_for_is_answered_and_not_told():
    stage = Stage(prepared())
    with pytest.raises(UsageProblem, match=r"question q1 already asks for core\.region"):
        make_correction(stage.state, "core.region=Spain")


def test_a_cancelled_run_takes_no_value():
    stage = Stage(prepared())
    stage.post(kind="cancel")
    with pytest.raises(UsageProblem, match="cancelled"):
        make_correction(stage.state, "market.customers=3")


@pytest.mark.parametrize(
    "text", ["It is late.", "a note\nmarket.customers=3", "Customers=3", "= 3", "market.customers="]
)
def test_another_text_is_a_note(text):
    assert make_correction(done().state, text) is None
