"""What a failed call costs if the error is in an answer with status 200, or comes from a gateway."""

import pytest

from actors.run.calls import CallFailed
from runtime.models.port import Fault, FaultKind
from runtime.models.servers import Servers
from tests.contracts.model import request
from tests.models.whole import read_completion
from tests.models.wired import wired
from tests.support.answers import Answer, by_step, chunk
from tests.support.artifacts import GOOD
from tests.wire.test_search import FastBackOffClock, run_against


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ({"code": 429, "message": "slow", "metadata": {"error_type": "x"}}, FaultKind.RATE_LIMITED, 429),
        ({"code": "429", "message": "slow"}, FaultKind.RATE_LIMITED, 429),
        ({"status": 503, "message": "full"}, FaultKind.SERVER_ERROR, 503),
        ({"code": "529", "message": "full"}, FaultKind.SERVER_ERROR, 529),
        ({"type": "overloaded_error", "message": "full"}, FaultKind.SERVER_ERROR, 529),
        ({"code": "rate_limit_exceeded", "message": "slow"}, FaultKind.RATE_LIMITED, 429),
        ({"code": 401, "message": "no"}, FaultKind.AUTH, 401),
        ({"code": 400, "message": "no"}, FaultKind.BAD_REQUEST, 400),
        ({"code": "insufficient_quota", "type": "rate_limit_error"}, FaultKind.AUTH, 429),
        ({"code": 200, "message": "?"}, FaultKind.BAD_REPLY, 200),
        ({"code": True, "message": "?"}, FaultKind.BAD_REPLY, 200),
        ({"message": "Unexpected endpoint or method"}, FaultKind.BAD_REPLY, 200),
        ("Unexpected endpoint", FaultKind.BAD_REPLY, 200),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_an_error_in_a_200_is_that_of_the_status_that_it_names(error, kind, status, streamed):
    """It names the status by a number or by the word for its type; without one, the answer is no completion."""
    whole = {"error": error, "choices": None}
    answer = Answer.events([whole]) if streamed else Answer.json(whole)
    if streamed and kind is FaultKind.BAD_REPLY:
        kind = FaultKind.SERVER_ERROR  # A stream that says that it failed is one of this interface.
    async with wired(answer) as (_, model):
        fault = await model.complete(request())
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.status) == (kind, status)


def test_a_deep_error_is_no_completion():
    assert read_completion(b'{"error": ' + b"[" * 90_000).kind is FaultKind.BAD_REPLY


def failed(events):
    return [(event.fault.status, event.refunded) for event in events if isinstance(event, CallFailed)]


def after(*answers):
    return by_step({"g_plan": [*answers, GOOD["g_plan"]]})


@pytest.mark.parametrize("code", [429, 503, 529])
async def test_a_refusal_inside_a_200_costs_a_run_nothing(code):
    handler = after(Answer.json({"error": {"code": code, "message": "Provider returned error"}}))
    async with run_against(handler, FastBackOffClock(), workflow="single") as (result, _, events):
        assert failed(events) == [(code, True)]
        assert (result.outcome, result.calls, result.tokens) == ("success", 1, 15)


async def test_an_error_after_the_first_words_stays_charged():
    half = [chunk({"content": "{"}), {"error": {"code": 429, "message": "no"}}]
    async with run_against(after(Answer.events(half)), FastBackOffClock(), workflow="single") as (result, _, events):
        assert failed(events) == [(200, False)]
        assert result.calls == 2


@pytest.mark.parametrize("status", [502, 504])
async def test_errors_of_a_gateway_on_this_machine_cost_nothing(status):
    handler = after(Answer.html(status), Answer.html(500))
    async with run_against(handler, FastBackOffClock(), workflow="single") as (result, _, events):
        assert failed(events) == [(status, True), (500, False)]
        assert result.calls == 2


@pytest.mark.parametrize(
    ("charge", "address", "status", "unpaid"),
    [
        (True, "https://api.example.org/v1", 502, False),
        (True, "http://192.168.1.5:8000/v1", 504, False),
        (False, "https://api.example.org/v1", 504, True),
        (False, "https://api.example.org/v1", 500, False),
        (True, "http://localhost:8080/v1", 502, True),
    ],
)
def test_the_setting_says_whether_errors_of_other_gateways_are_charged(charge, address, status, unpaid):
    fault = Fault(kind=FaultKind.SERVER_ERROR, message="bad gateway", status=status)
    assert Servers(charge_gateway_errors=charge).with_charge(fault, address).unpaid == unpaid
