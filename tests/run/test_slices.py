"""The slices of the common run one by one: calls and their books, waits, questions, the inbox, and parking."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from actors.run import calls, inbox, outage, parking, questions, waits
from actors.run.agent import AgentCallReissued, AgentCallRequested, CallAnswered
from actors.run.calls import CallFailed, Faulted, Generated
from actors.run.ending import RunFinished
from actors.run.evolve import evolve_run, record_time
from actors.run.ids import backoff_id, call_of, expiry_id, node_of, step_of, try_id
from actors.run.machine import accept_control
from actors.run.parking import REASONS_MAX, RunParked, RunResumed
from actors.run.questions import ClarificationAnswered, ClarificationWithdrawn, Status, outcome_question
from actors.run.state import RunState
from actors.run.waits import PROVIDER, WaitEnded, WaitRequested
from runtime.core.ledger import Ledger, Limits
from runtime.core.messages import Mailed, Overdrawn, Parking, Resumed, Woken
from runtime.models.port import Fault, FaultKind, Reply
from tests.support.questions import question_asked

BEGUN = RunState(run_id="r", ledger=Ledger(Limits(calls=1_000)))


def asked(number, try_number=1):
    return AgentCallRequested(node=f"step/v{number}", prompt_hash="", tokens_max=7, try_number=try_number)


def failed(request_id, kind=FaultKind.CUT, at=0.0, **fault):
    fault = Fault(kind=kind, message="fault", **fault)
    return CallFailed(request_id=request_id, at=at, elapsed=1.0, fault=fault)


def after(*events, run=BEGUN):
    for event in events:
        run = evolve_run(run, event)
    return run


@given(
    some.lists(
        some.tuples(some.sampled_from(("ask", "answer", "cut", "refuse", "withdraw", "reissue")), some.integers(0, 9))
    )
)
def test_what_is_charged_follows_from_what_became_of_each_call(story):
    """Reserved while open; as used when answered; all of it when cut or withdrawn; nothing when certainly refused."""
    run, charged, count = BEGUN, {}, 0
    for action, choice in story:
        names = list(run.calls.open)
        name = names[choice % len(names)] if names else ""
        match action:
            case "ask":
                count += 1
                run = after(asked(count), run=run)
                charged[f"step/v{count}"] = 1
            case "answer" if name:
                run = after(CallAnswered(request_id=name, at=0.0, elapsed=1.0, content="", calls=2), run=run)
                charged[name] = 2
            case "cut" | "refuse" if name:
                kind = FaultKind.CUT if action == "cut" else FaultKind.RATE_LIMITED
                run = after(failed(name, kind), run=run)
                charged[name] = action == "cut"
            case "withdraw" if name:
                left, ledger = calls.withdraw_calls(run.calls, run.ledger, {node_of(name)})
                run = RunState(run_id="r", ledger=ledger, calls=left)
            case "reissue" if name:
                request = run.calls.open[name].request
                again = asked(request.node.removeprefix("step/v"), request.try_number + 1)
                run = after(AgentCallReissued(replaces=name, again=again), run=run)
                charged[again.request_id] = 1
        assert run.ledger.committed.calls == sum(charged.values())
        assert run.ledger.reserved.keys() == run.calls.open.keys()


def test_the_pause_doubles_and_then_the_provider_is_asked_first():
    run, pauses = after(asked(1)), []
    while True:
        [name] = run.calls.open
        run = after(failed(name), run=run)
        event = outage.after_fault(run)
        if event.request_id == PROVIDER:
            break
        pauses.append(event.until)
        run = after(event, WaitEnded(request_id=event.request_id, at=event.until), run=run)
        [tries] = run.calls.tries.values()
        assert tries.phase == "rested"
        run = after(asked(1, tries.request.try_number + 1), run=run)
    assert len(pauses) == outage.TRIES_MAX - 1
    assert all(0.5 <= pause / 2**place <= 1.5 for place, pause in enumerate(pauses))
    assert (event.node, event.fault.kind) == ("step/v1", FaultKind.CUT)
    assert run.saving is False
    assert after(event, run=run).saving


def test_a_process_stays_for_its_provider_until_the_patience_is_used_up():
    run, stayed, now = after(asked(1)), 0.0, 0.0
    run = after(failed("step/v1"), run=run)
    run = replace(run, calls=replace(run.calls, tries={"step/v1": replace(run.calls.tries["step/v1"], count=5)}))
    event = outage.after_fault(run)
    while event.node is not None:
        assert event.until - now <= outage.STAYING_SECONDS + 1e-3
        stayed += event.until - now
        run, now = after(event, run=run), event.until
        fault = Fault(kind=FaultKind.SERVER_ERROR, message="still down")
        event = outage.continue_outage(run, Faulted(PROVIDER, now, 0.0, fault))
    assert stayed == pytest.approx(outage.PATIENCE_SECONDS)
    assert event.until - now == outage.LEFT_SECONDS


def test_nobody_stays_for_a_server_that_asks_for_a_longer_pause():
    run = after(asked(1), failed("step/v1", retry_after=outage.PATIENCE_SECONDS + 1))
    event = outage.after_fault(run)
    assert (event.request_id, event.node, event.until) == (PROVIDER, None, outage.LEFT_SECONDS)


def test_a_call_rests_through_a_pause_that_just_uses_up_the_patience():
    run = after(asked(1), failed("step/v1", FaultKind.RATE_LIMITED, retry_after=outage.PATIENCE_SECONDS))
    event = outage.after_fault(run)
    assert (event.request_id, event.until) == (backoff_id("step/v1"), outage.PATIENCE_SECONDS)


def test_a_server_that_asks_for_no_pause_is_not_asked_without_end():
    run, number = after(asked(1)), 1
    while True:
        [name] = run.calls.open
        run = after(failed(name, FaultKind.RATE_LIMITED, retry_after=0.0), run=run)
        event = outage.after_fault(run)
        run = after(event, WaitEnded(request_id=event.request_id, at=event.until), run=run)
        number += 1
        if event.request_id == PROVIDER and event.node is None:
            break
        run = after(asked(1, number), run=run)
    assert number < 40
    assert run.calls.tries["step/v1"].waited > outage.PATIENCE_SECONDS - 2 * outage.STAYING_SECONDS


@pytest.mark.parametrize("kind", [FaultKind.AUTH, FaultKind.NOT_FOUND, FaultKind.UNRESOLVED_HOST])
def test_nobody_stays_where_only_a_person_or_the_provider_can_help(kind):
    run = after(asked(1), failed("step/v1", kind))
    assert outage.after_fault(run).node is None
    assert after(outage.after_fault(run), run=run).outage.fault.kind is kind


@pytest.mark.parametrize("kind", [FaultKind.BAD_REQUEST, FaultKind.CONTENT_REFUSED])
def test_what_a_provider_refuses_to_be_asked_parks(kind):
    run = after(asked(1), failed("step/v1", kind))
    event = outage.after_fault(run)
    assert (event.kind, event.cause, event.handover) == ("run_parked", "provider", False)
    parked = after(event, run=run)
    assert outage.after_fault(parked) is None
    again = after(RunResumed(at=9.0, epoch=2, at_once=True), run=parked)
    assert again.calls.tries["step/v1"].phase == "rested"


def test_replies_that_are_always_too_large_park():
    run = after(asked(1))
    for number in range(1, outage.TRIES_MAX):
        [name] = run.calls.open
        run = after(failed(name, FaultKind.TOO_LARGE), run=run)
        event = outage.after_fault(run)
        run = after(event, WaitEnded(request_id=event.request_id, at=event.until), asked(1, number + 1), run=run)
    [name] = run.calls.open
    assert outage.after_fault(after(failed(name, FaultKind.TOO_LARGE), run=run)).cause == "provider"


@pytest.mark.parametrize(("status", "unpaid"), [(503, True), (529, True), (502, False), (500, False), (None, False)])
def test_a_server_that_has_not_begun_charges_nothing(status, unpaid):
    run = after(asked(1))
    fault = Fault(kind=FaultKind.SERVER_ERROR, message="", status=status)
    event = calls.accept_fault(run.calls, run.ledger, Faulted("step/v1", 1.0, 1.0, fault))
    assert event.refunded is unpaid
    assert after(event, run=run).ledger.unknown.calls == (0 if unpaid else 1)


def test_a_fault_while_parking_counts_no_try_and_waits_for_the_next_driver():
    run = after(asked(1), RunParked(at=1.0), failed("step/v1", FaultKind.REFUSED_CONNECTION))
    assert run.calls.tries["step/v1"].count == 0
    assert outage.after_fault(run) is None


@pytest.mark.parametrize("outcome", ["budget_exhausted", "failed", "all_pruned", "incomplete"])
def test_an_end_that_is_not_final_keeps_what_was_open_and_is_undone(outcome):
    run = after(asked(1))
    ended = after(RunFinished(outcome=outcome, why=""), run=run)
    assert ended.calls.open == run.calls.open
    assert (ended.ledger.unknown.calls, ended.ledger.reserved) == (1, {})
    assert after(RunResumed(at=9.0, epoch=2), run=ended).finished is ended.finished
    by_person = after(RunResumed(at=9.0, epoch=2, at_once=True), run=ended)
    assert (by_person.finished is None) == (outcome == "failed")
    again = after(RunResumed(at=9.0, epoch=2), run=replace(ended, reopening=True))
    assert again.finished is None
    assert again.ledger == run.ledger


def test_a_reply_is_taken_once_and_a_late_one_is_settled():
    run = after(asked(1))
    message = Generated("step/v1", 1.0, 1.0, Reply("half a \ud800 pair", None, "toy"))
    received = calls.accept_reply(run.calls, run.ledger, message, None)
    assert (received.request.request_id, received.fields["content"]) == ("step/v1", "half a ? pair")
    assert received.fields["tokens"] == 7, "without a report all that was reserved is charged"
    done = after(CallAnswered(**received.fields), run=run)
    assert calls.accept_reply(done.calls, done.ledger, message, None) is None
    gone = after(RunFinished(outcome="cancelled", why=""), run=run)
    assert calls.accept_reply(gone.calls, gone.ledger, message, None).kind == "settled"
    refused = Faulted("step/v1", 1.0, 1.0, Fault(kind=FaultKind.AUTH, message=""))
    assert calls.accept_fault(gone.calls, gone.ledger, refused).used.calls == 0


@pytest.mark.parametrize("number", [1, 2, 13])
def test_names_can_be_read_back(number):
    request_id = try_id("step/v1", number)
    assert (call_of(request_id), node_of(request_id), step_of(request_id)) == ("step/v1", "step/v1", "step")
    wait = WaitRequested(request_id=backoff_id(request_id), until=1.0, why="", node="step/v1")
    assert wait.call == "step/v1"


def test_the_clock_waits_for_the_deadline_once_and_then_the_run_ends():
    ledger = Ledger(Limits(deadline=9.0))
    wait = waits.keep_deadline({}, ledger, 1.0)
    assert waits.keep_deadline({wait.request_id: wait}, ledger, 8.0) is None
    assert waits.keep_deadline({wait.request_id: wait}, ledger, 9.0).outcome == "budget_exhausted"
    assert waits.work_of({wait.request_id: wait})["deadline"].keeps_no_process
    assert waits.accept_woken({}, Woken("deadline", 9.0)) is None


def test_the_time_never_goes_back_and_work_counts_only_while_somebody_drives():
    run = record_time(BEGUN, RunResumed(at=50.0, epoch=2), working=True)
    assert (run.now, run.ledger.active) == (50.0, 0.0)
    run = record_time(run, RunParked(at=60.0), working=True)
    run = record_time(run, RunParked(at=20.0), working=True)
    assert (run.now, run.wall, run.ledger.active) == (60.0, 20.0, 10.0)


def question(name="q1", **fields):
    return question_asked(question_id=name, node="step/v1", **fields)


def test_a_question_expires_when_its_time_is_over_and_its_wait_goes_with_it():
    run = after(question())
    wait = questions.expire(run.questions, run.waits, 0.0, 60.0)
    assert (wait.request_id, wait.until) == (expiry_id("q1"), 60.0)
    run = after(wait, run=run)
    assert questions.expire(run.questions, run.waits, 59.0, 60.0) is None
    run = after(questions.expire(run.questions, run.waits, 60.0, 60.0), run=run)
    assert (run.questions["q1"].status, run.waits, run.open_questions) == (Status.EXPIRED, {}, {})


def test_a_late_answer_is_known_and_a_review_that_is_gone_takes_none():
    gone = after(question(), ClarificationWithdrawn(question_id="q1"))
    assert inbox.normalise_answer(gone.questions, "q1", " blue ", "") == "blue"
    known = after(ClarificationAnswered(question_id="q1", at=1.0, answer="blue"), run=gone)
    assert [clarified.answer for clarified in known.clarifications] == ["blue"]
    review = after(question(review=True), ClarificationWithdrawn(question_id="q1"))
    with pytest.raises(Exception, match="closed"):
        inbox.normalise_answer(review.questions, "q1", "blue", "cli")


@pytest.mark.parametrize(
    "fields", [{"review": True}, {"for_people": True}, outcome_question("bank", "the step 'pay'").form]
)
@pytest.mark.parametrize(("via", "taken"), [("", True), ("cli", True), ("ask", True), ("mcp", False), ("later", False)])
def test_only_people_answer_some_questions(fields, via, taken):
    """An answer that does not say on which way it came is one of codec 1, and was checked as it was posted."""
    run, body = after(question(**fields)), json.dumps({"kind": "decline", "question": "q1", "via": via})
    event = accept_control(run, Mailed(1, "answer:q1", body, 1.0))
    assert event.kind == ("clarification_declined" if taken else "mail_refused")
    assert getattr(event, "via", "") == (via if taken else "")


@pytest.mark.parametrize("via", [7, "", "A b", "x" * 33, None])
def test_what_is_no_way_is_left_out_of_the_fact(via):
    body = json.dumps({"kind": "answer", "question": "q1", "answer": "blue", "via": via})
    assert accept_control(after(question()), Mailed(1, "answer:q1", body, 1.0)).via == ""


@pytest.mark.parametrize("body", ["", "[]", "[" * 100_000, '{"kind": "odd"}', '{"kind": "answer", "question": []}'])
def test_a_message_that_nobody_understands_is_refused_as_a_fact(body):
    event = accept_control(BEGUN, Mailed(1, "key \ud800", body, 1.0))
    assert (event.kind, event.key) == ("mail_refused", "key ?")


def test_a_finished_run_takes_no_message():
    done = after(RunFinished(outcome="success", why=""))
    body = json.dumps({"kind": "note", "text": "hello"})
    for message in (
        Mailed(1, "k", body, 1.0),
        Parking(1.0),
        Resumed(2, 1.0),
        Overdrawn(1.0, None, ""),
        Woken("w", 1.0),
    ):
        assert accept_control(done, message) is None


def test_each_reason_why_no_host_can_drive_a_run_is_recorded_once_and_not_for_ever():
    run = BEGUN
    for number in range(2 * REASONS_MAX):
        for _ in range(2):
            event = parking.accept_parking(run, Parking(1.0, handover=True, why=f"reason {number}"))
            run = run if event is None else after(event, run=run)
    assert run.parked_reasons == tuple(f"reason {number}" for number in range(REASONS_MAX))
    assert after(RunResumed(at=2.0, epoch=2), run=run).parked_reason == ""


def test_a_day_without_budget_is_waited_for_once_and_a_new_driver_asks_anew():
    wait = parking.accept_overdrawn(BEGUN, Overdrawn(1.0, 99.0, "used up"))
    run = after(wait)
    assert run.saving
    assert parking.accept_overdrawn(run, Overdrawn(1.0, 99.0, "used up")) is None
    assert not after(RunResumed(at=2.0, epoch=2), run=run).saving
    assert parking.accept_overdrawn(run, Overdrawn(1.0, None, "used up")).cause == "home_budget"
    assert parking.accept_overdrawn(run, Overdrawn(1.0, 99.0, "never", never=True)).kind == "run_parked"


@pytest.mark.parametrize(
    ("kind", "latest", "left", "limit"),
    [
        (None, None, None, None),
        (None, None, 30.0, 30.0),
        (FaultKind.TIMEOUT, None, None, 240.0),
        (FaultKind.TIMEOUT, 240.0, None, 480.0),
        (FaultKind.TIMEOUT, 2_000.0, None, outage.TIMEOUT_GROWN_MAX),
        (FaultKind.TIMEOUT, 240.0, 300.0, 300.0),
        (FaultKind.TIMEOUT, 5.0, None, None),
        (FaultKind.CUT, 240.0, None, 240.0),
        (FaultKind.CUT, None, None, None),
    ],
)
def test_a_call_that_took_too_long_gets_twice_the_time_up_to_a_limit_and_within_the_active_time(
    kind, latest, left, limit
):
    """What the latest try was given is in its request, so that a resumed run says the same."""
    run = replace(BEGUN, ledger=Ledger(Limits(calls=1_000, active_seconds=left)))
    if kind is not None:
        request = asked(1).model_copy(update={"timeout_seconds": latest})
        run = after(request, failed(request.request_id, kind), run=run)
    assert outage.time_limit(run, asked(1).call, 120.0) == limit
