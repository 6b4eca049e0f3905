"""A small agent on the ready machine: its whole story, what is bounded, and what survives any disturbance."""

import json
import random
from dataclasses import replace

import pytest

from actors.run.agent import AGENT_EVENTS, AgentSettings, AgentStarted
from actors.run.agent_machine import AgentMachine
from actors.run.calls import Faulted, Generated
from actors.run.machine import MODEL
from actors.run.pure_run import PureRun
from actors.run.questions import USER
from actors.run.tools import Begun, Checked, Ended, ToolCheckRequested, ToolOutcome
from actors.run.waits import CLOCK
from actors.values.model_settings import ModelSettings
from runtime.core.events import Codec
from runtime.core.ledger import Limits, Price, Usage
from runtime.core.machine import Refused, fold, settle
from runtime.core.messages import Crashed, Mailed, Parking, Resumed, Woken
from runtime.models.port import Fault, FaultKind, Reply
from tests.run.haggler import Haggler

CODEC = Codec(AGENT_EVENTS)
PRICE = Price(input_per_token_usd=1e-6, output_per_token_usd=1e-6)


class Stage:
    """Plays the actors of one run on the pure machine."""

    def __init__(self, limits=None, **settings):
        self.machine, self.events, self.now, self.inbox, self.epoch = AgentMachine(Haggler()), [], 1_000.0, 0, 1
        self.state = self.machine.initial()
        settings = AgentSettings(model="toy", price=PRICE, **settings)
        self.send(
            AgentStarted(at=self.now, run="run", task="a lamp", limits=limits or Limits(calls=9), settings=settings)
        )

    def send(self, message):
        accepted = self.machine.accept(self.state, message)
        if accepted is None or isinstance(accepted, Refused):
            return accepted
        _, batch = settle(self.machine, self.state, accepted)
        for event in batch:
            stored = CODEC.encode(event)
            again = CODEC.decode(stored.body, stored.texts)
            assert again == event, "an event does not survive storage"
            self.state = self.machine.evolve(self.state, again)
            self.events.append(again)
        assert self.machine.advance(self.state) is None
        return [event.kind for event in batch]

    @property
    def work(self):
        return self.machine.outstanding(self.state)

    def only(self, address):
        [work] = [work for work in self.work.values() if work.address == address]
        return work

    def reply(self, text, request=None):
        usage = Usage(input_tokens=10, output_tokens=2)
        request = request or self.only(MODEL).request_id
        return self.send(Generated(request, self.now, 1.0, Reply(text, usage, "toy")))

    def fault(self, kind):
        return self.send(Faulted(self.only(MODEL).request_id, self.now, 1.0, Fault(kind=kind, message="fault")))

    def post(self, **body):
        self.inbox += 1
        return self.send(Mailed(self.inbox, f"key{self.inbox}", json.dumps(body), self.now))

    def answer(self, text):
        return self.post(kind="answer", question=self.only(USER).request_id, answer=text)

    def book(self, outcome=ToolOutcome.SUCCEEDED):
        request = self.only("tool:book").request_id
        self.send(Begun(request, self.now))
        return self.send(Ended(request, self.now, 0.1, outcome))

    def resume(self):
        self.epoch += 1
        self.state = fold(self.machine, self.events)
        return self.send(Resumed(self.epoch, self.now))

    @property
    def outcome(self):
        return self.state.run.finished and self.state.run.finished.outcome


def test_a_run_from_its_start_to_its_end():
    stage = Stage()
    assert stage.reply("80") == ["call_answered", "clarification_requested"]
    assert stage.machine.summary(stage.state).status == "waiting"
    assert stage.answer("y") == ["clarification_answered", "tool_requested"]
    assert stage.book() == ["tool_finished", "run_finished"]
    assert (stage.outcome, stage.state.run.finished.why) == ("success", "sold at 80")
    assert stage.machine.summary(stage.state).detail == "success"
    assert stage.state.run.ledger.spent.calls == 1
    assert fold(stage.machine, stage.events) == stage.state


def test_a_second_call_of_a_step_has_a_name_of_its_own_and_the_prompt_says_what_was_refused():
    stage = Stage()
    stage.reply("80")
    assert stage.answer("no") == ["clarification_answered", "call_requested"]
    work = stage.only(MODEL)
    assert work.request_id == "offer/v2"
    assert "refused: 80" in stage.machine.brief(stage.state, work).user


def test_a_reply_that_says_nothing_is_asked_for_again_until_the_calls_are_used_up():
    stage = Stage(Limits(calls=2))
    stage.reply("no price")
    stage.reply("no price")
    assert (stage.outcome, stage.state.run.finished.why) == ("budget_exhausted", "no calls left")


def test_calls_have_the_settings_of_the_run_and_a_change_of_them():
    stage = Stage(model_settings=ModelSettings(seed=3, extra_headers={"X-Title": "a"}))
    request = stage.machine.brief(stage.state, stage.only(MODEL))
    assert (request.fields, request.headers) == ({"seed": 3}, {"X-Title": "a"})
    stage.post(kind="change", model_settings={"seed": None, "temperature": 0.5})
    request = stage.machine.brief(stage.state, stage.only(MODEL))
    assert (request.fields, request.headers) == ({"temperature": 0.5}, {"X-Title": "a"})


def test_a_fault_is_tried_again_after_a_wait():
    stage = Stage()
    assert stage.fault(FaultKind.CUT) == ["generation_failed", "wait_requested"]
    wait = stage.only(CLOCK)
    assert stage.send(Woken(wait.request_id, wait.until)) == ["wait_ended", "call_requested"]
    assert stage.only(MODEL).request_id == "offer/v1.t2"
    assert stage.fault(FaultKind.AUTH) == ["generation_failed", "wait_requested"]
    assert stage.state.run.outage.fault.kind is FaultKind.AUTH
    assert stage.machine.summary(stage.state).due == stage.state.run.outage.until
    stage.send(Resumed(9, stage.now, at_once=True))
    assert stage.send(Woken("provider", stage.now)) == ["wait_ended", "call_requested"]


def test_a_parked_run_asks_for_nothing_and_a_new_driver_asks_again():
    stage = Stage()
    stage.send(Parking(stage.now))
    assert stage.fault(FaultKind.RATE_LIMITED) == ["generation_failed"]
    assert stage.machine.summary(stage.state).status == "parked"
    assert stage.resume() == ["run_resumed", "wait_requested"]
    stage = Stage()
    assert stage.resume() == ["run_resumed", "call_reissued"]
    assert stage.reply("80", "offer/v1") == ["settled"]
    assert stage.reply("70")[0] == "call_answered"


def test_a_late_reply_after_a_cancel_is_booked_and_not_used():
    stage = Stage()
    assert stage.post(kind="cancel") == ["run_finished"]
    assert stage.outcome == "cancelled"
    assert stage.reply("80", "offer/v1") == ["settled"]
    assert stage.state.data.price is None


def test_a_question_expires_and_a_deadline_ends_the_run():
    stage = Stage(question_expires_seconds=60.0)
    assert stage.reply("80")[-1] == "wait_requested"
    assert stage.send(Woken("expires:q1", stage.now + 60.0))[1:] == ["clarification_expired", "run_finished"]
    assert stage.outcome == "no_deal"
    stage = Stage(Limits(deadline=2_000.0))
    assert stage.send(Woken("deadline", 2_000.0)) == ["wait_ended", "run_finished"]
    assert stage.outcome == "budget_exhausted"


def test_a_question_that_is_not_wanted_any_more_is_withdrawn_and_a_late_answer_to_it_decides_nothing():
    stage = Stage()
    stage.reply("80")
    assert stage.post(kind="requirement", text="70 at most") == [
        "requirement_told",
        "clarification_withdrawn",
        "call_requested",
    ]
    assert stage.post(kind="answer", question="q1", answer="yes") == ["clarification_answered"]
    assert stage.state.data.approved is None
    stage.reply("70")
    assert stage.only(USER).request.text == "Sell a lamp at 70?"


def test_a_question_with_another_text_takes_the_place_of_the_open_one():
    stage = Stage()
    stage.reply("80")
    asks = stage.machine.agent.decide
    stage.machine.agent.decide = lambda state: [replace(wish, text="Really?") for wish in asks(state)]
    assert stage.post(kind="note", text="x") == ["note_told", "clarification_withdrawn", "clarification_requested"]
    assert stage.only(USER).request.text == "Really?"


def test_an_agent_that_wants_nothing_ends_as_a_bug():
    stage = Stage()
    stage.machine.agent.decide = lambda _: []
    assert stage.reply("80") == ["call_answered", "run_finished"]
    assert stage.state.run.finished.cause == "bug"


@pytest.mark.parametrize("part", range(4))
def test_no_call_passes_the_limits_and_every_prefix_goes_on_whatever_happens(part):
    """Faults, late replies, takeovers, torn batches, mail and parking in any order: seeded simulation."""
    outcomes = set()
    for seed in range(part, 400, 4):
        dice = random.Random(seed)
        stage = Stage(Limits(calls=dice.choice((1, 3, 9))), question_expires_seconds=dice.choice((None, 50.0)))
        for _ in range(200):
            if stage.state.run.over:
                break
            disturb(stage, dice)
            assert stage.state.run.ledger.committed.calls <= stage.state.run.ledger.limits.calls
        assert fold(stage.machine, stage.events) == stage.state
        assert stage.state.run.over, f"seed {seed} does not end"
        assert stage.work == {}
        outcomes.add(stage.outcome)
    assert {"success", "budget_exhausted"} <= outcomes


def disturb(stage, dice):
    stage.now += dice.choice((0.0, 1.0, 30.0))
    match dice.choices(("work", "late", "resume", "park", "mail", "crash"), (20, 2, 2, 1, 1, 0.2))[0]:
        case "work" if stage.work:
            answer(stage, dice, dice.choice(list(stage.work.values())))
        case "late" if stage.state.run.ledger.forfeited:
            stage.reply("50", dice.choice(sorted(stage.state.run.ledger.forfeited)))
        case "park":
            stage.send(Parking(stage.now))
        case "mail":
            stage.post(kind=dice.choice(("note", "requirement", "odd")), text="cheaper")
        case "crash":
            stage.send(Crashed("x", stage.now, "a bug"))
        case _:
            del stage.events[max(1, len(stage.events) - dice.randint(0, 2)) :]
            stage.resume()


def answer(stage, dice, work):
    match work.address:
        case "model" if dice.random() < 0.2:
            kind = dice.choice((FaultKind.CUT, FaultKind.RATE_LIMITED))
            stage.send(Faulted(work.request_id, stage.now, 1.0, Fault(kind=kind, message="fault")))
        case "model":
            stage.reply(dice.choice(("80", "words")), work.request_id)
        case "user":
            words = ("yes", "no", "odd", *work.request.answer_schema.get("enum", ()))
            stage.post(kind="answer", question=work.request_id, answer=dice.choice(words))
        case "clock":
            stage.now = max(stage.now, work.until)
            stage.send(Woken(work.request_id, stage.now))
        case _ if isinstance(work.request, ToolCheckRequested):
            stage.send(Checked(work.request_id, stage.now, certain=dice.random() < 0.8))
        case _:
            stage.send(Begun(work.request_id, stage.now, dice.choice(("", "host/1/77/boot.5"))))
            if dice.random() < 0.8:
                stage.send(Ended(work.request_id, stage.now, 0.1, dice.choice(list(ToolOutcome))))


def test_a_run_is_played_to_its_end():
    run = PureRun(Haggler(), "a lamp")
    assert "a lamp" in run.prompt.user
    run.reply("80")
    assert run.question.text == "Sell a lamp at 80?"
    run.tell("cheaper", kind="requirement")
    run.reply("70")
    run.answer("yes")
    assert run.tool.arguments == '{"price": 70}'
    assert run.finished is None
    run.end_tool(outcome=ToolOutcome.FAILED, reason="no paper")
    assert run.finished.outcome == "not_booked"
    assert run.data.refused == ("cheaper",)
    assert fold(run.machine, run.events) == run.state


def test_a_question_can_be_declined_and_limits_hold():
    run = PureRun(Haggler(), "a lamp")
    run.reply("80")
    run.decline()
    assert run.finished.outcome == "no_deal"
    run = PureRun(Haggler(), "a lamp", Limits(calls=1))
    run.reply("no price")
    assert run.finished.outcome == "budget_exhausted"


@pytest.mark.parametrize(
    ("act", "cause"),
    [
        (lambda run: run.answer("yes"), "open: \\['model'\\]"),
        (lambda run: run.end_tool(), "is needed, open:"),
        (lambda run: run.tell("x", kind="odd"), "'odd' is not one of"),
        (lambda run: run.tell(" "), "the message is empty"),
    ],
)
def test_a_message_that_the_run_does_not_take_fails_the_test(act, cause):
    run = PureRun(Haggler(), "a lamp")
    with pytest.raises(AssertionError, match=cause):
        act(run)


def test_an_answer_that_does_not_fit_fails_the_test():
    run = PureRun(Haggler(), "a lamp")
    run.reply("80")
    with pytest.raises(AssertionError, match="yes"):
        run.answer("perhaps")
