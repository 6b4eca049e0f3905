"""Drives the pure planning machine through one simulated run: actors, people, clocks, crashes, all from one seed.

The journal is the list `events`; only whole prefixes of it survive a crash. Requests are carried out only after the
batch that holds them is written, as the supervisor does it, so that what a provider was asked for can be counted.
"""

import json
import random
from dataclasses import dataclass, field, replace

from actors.planning.events import EVENTS, ClassificationRequested, GenerationRequested, JudgementRequested
from actors.planning.machine import PlanningMachine
from actors.planning.prompt_context import render_failure_prompt, render_prompt
from actors.planning.state import PlanningState
from actors.run.calls import Faulted, Generated, Judged
from actors.run.ids import call_of
from actors.run.questions import ClarificationRequested, Status
from actors.run.state import NotStarted
from actors.values.answers import TEXT, answer_form
from runtime.core.events import Codec
from runtime.core.ledger import Amount
from runtime.core.machine import Refused, fold, settle
from runtime.core.messages import Crashed, Mailed, Parking, Resumed, Woken, stamp
from runtime.models.port import Fault, FaultKind, Reply
from tests.long.simulation.invariants import Invariants
from tests.long.simulation.scenery import START, cause, configuration, limits, reply, verdict, weather
from tests.support.planning_start import planning_start
from tests.support.worlds import start_anywhere

MESSAGES_MAX = 3_000
"""Far more than any simulated run needs: what is not over by then does not end."""

MACHINE = PlanningMachine()
CODEC = Codec(EVENTS)


@dataclass
class Run:
    """A simulated run. `started` says which generation requests reached the provider, and which driver (its epoch) sent
    them; `sent` are all work messages.

    `power_cuts` is the chance that the driver dies with a batch in hand.
    """

    seed: int
    dice: random.Random = field(init=False)
    state: PlanningState = field(default_factory=NotStarted)
    events: list = field(default_factory=list)
    started: dict = field(default_factory=dict)
    refunded: set = field(default_factory=set)
    sent: list = field(default_factory=list)
    answers: list = field(default_factory=list)
    now: float = START
    claimed: float = START
    epoch: int = 1
    warn_at: tuple = ()
    power_cuts: float = 0.05
    count: int = 0

    def __post_init__(self):
        self.dice = random.Random(self.seed)
        self.config = configuration(self.dice)
        self.limits, self.weather = limits(self.dice, self.config), weather(self.dice)
        self.invariants = Invariants(self.config, self.limits)

    def simulate(self):
        """Play until the run ends or only an unwilling person could go on; return the machine's last state."""
        self.begin()
        self.play(patient=self.dice.random() < 0.8, disturbance=self.weather.disturbance)
        while self.reopen():
            self.play(patient=True, disturbance=self.weather.disturbance)
        self.close()
        return self.state

    def begin(self):
        more = {"problem": "problem \ud800", "limits": self.limits, "warn_at": self.warn_at}
        self.send(planning_start(self.now, self.config, run=f"run-{self.seed}", **more))

    def play(self, *, patient, disturbance):
        """Go on to the end; a patient user answers, `disturbance` is the chance that something else comes first."""
        while self.state.run.finished is None:
            self.count += 1
            assert self.count < MESSAGES_MAX, "the run does not end"
            if self.dice.random() < disturbance:
                self.disturb()
            elif not self.go_on(patient=patient):
                break

    def send(self, message):
        """Give the machine one message at the driver's second; write and check what follows."""
        message, before = stamp(message, self.now - self.claimed), self.state
        accepted = MACHINE.accept(self.state, message)
        assert accepted == MACHINE.accept(before, message), "accept is not deterministic"
        if accepted is None or isinstance(accepted, Refused):
            return accepted
        assert getattr(accepted, "mono", message.mono) == message.mono, "an event does not say the driver's second"
        reply = isinstance(message, Generated | Faulted | Judged | Woken)
        if reply and message.request_id not in MACHINE.outstanding(before):
            # A wait or a question at a limit holds back calls that were open; they are asked for again after it.
            opened = before.run.calls.open.get(message.request_id)
            held = before.run.asks_at_limit or (before.run.saving and opened and opened.epoch != before.run.epoch)
            asked_before = opened is not None and held
            assert accepted.kind == "settled" or asked_before, "a duplicate or a late reply is acted on"
        _, batch = settle(MACHINE, self.state, accepted)
        if self.dice.random() < 0.1:
            assert settle(MACHINE, self.state, accepted)[1] == batch, "advance is not deterministic"
        for event in batch:
            stored = CODEC.encode(event)
            again = CODEC.decode(stored.body, stored.texts)
            assert again == event, "an event does not survive storage"
            self.state = MACHINE.evolve(self.state, again)
            self.events.append(again)
            self.invariants.after(again, self.state)
        assert MACHINE.advance(self.state) is None, "the machine was not quiet"
        self.batch = len(batch)
        self.invariants.quiet(self.state, MACHINE.outstanding(self.state))
        if self.dice.random() < self.power_cuts:  # The power goes before the requests of the batch go out.
            self.crash()
        self.start()
        return batch

    def start(self):
        """Send out the generation requests that this driver has not sent, and only with the prompt that was promised.

        What an earlier driver may have sent was paid for under its name: it has to be booked again, under another.
        """
        for name, work in MACHINE.outstanding(self.state).items():
            request = work.request
            if isinstance(request, GenerationRequested) and self.state.is_child(request):
                self.started[name] = self.epoch  # What it reads is fixed when it starts, which may be much later.
            elif name in self.started:
                assert self.started[name] == self.epoch, "what an earlier driver has sent is sent again, and paid once"
            elif isinstance(request, GenerationRequested | ClassificationRequested):
                generates = isinstance(request, GenerationRequested)
                promised = (
                    render_prompt(self.state, self.state.latest, request.step)
                    if generates
                    else render_failure_prompt(self.state, self.state.latest, request.node)
                )
                assert promised.ref == work.request.prompt_hash, "the prompt is not the one that was promised"
                self.started[name] = self.epoch

    def go_on(self, *, patient):
        """Let one actor answer. Return whether anything could be done."""
        work = MACHINE.outstanding(self.state)
        if self.state.run.parked or (self.state.run.renewing and not work):
            return self.resume()
        doable = [item for item in work.values() if item.request_id != "deadline"]
        if not patient:
            doable = [item for item in doable if not isinstance(item.request, ClarificationRequested)]
        if not doable and "deadline" not in work:
            return False
        item = self.dice.choice(doable) if doable else work["deadline"]
        self.now += self.dice.choice((0.0, 0.3, 2.0, 20.0))
        match item.request:
            case GenerationRequested() | ClassificationRequested():
                self.send(self.generated(item.request_id))
            case JudgementRequested():
                leaf = item.request.step in self.config.graph.leaves
                said = verdict(self.dice, self.weather, self.count, leaf=leaf)
                self.send(self.kept(Judged(item.request_id, self.now, 0.1, said)))
            case ClarificationRequested():
                self.respond(item.request)
            case _:
                self.now = max(self.now, item.request.until)
                if item.request_id == "provider" and self.dice.random() < 0.5:
                    self.send(Faulted("provider", self.now, 0.1, Fault(kind=FaultKind.SERVER_ERROR, message="down")))
                    return True
                self.send(self.kept(Woken(item.request_id, self.now)))
        return True

    def reopen(self):
        """Let a person undo an end that is not final, at times; return whether the run goes on."""
        end = self.state.run.finished
        if end is None or end.final or self.count > MESSAGES_MAX // 2 or self.dice.random() < 0.4:
            return False
        before = [event.node for event in self.events if event.kind == "artifact_produced"]
        match end.reopened_by:
            case "limits":
                old = self.state.run.ledger
                more = {"calls": old.committed.calls + 20}
                more |= {} if old.limits.tokens is None else {"tokens": old.committed.tokens + 200_000}
                more |= {} if old.limits.micro_usd is None else {"micro_usd": old.committed.micro_usd + 900_000}
                more |= {} if old.limits.active_seconds is None else {"active_seconds": old.active + 500.0}
                more |= {} if old.limits.deadline is None else {"deadline": self.now + 5_000.0}
                more |= {"stop_below": old.limits.stop_below / 4} if old.limits.stop_below else {}
                assert self.mail(f"change:{self.count}", {"kind": "change", **more})[0].kind == "settings_changed"
            case "requirement":
                self.mail(f"tell:{self.count}", {"kind": "requirement", "text": f" #T{self.count}# "})
        if self.state.run.finished is not None:  # Else the power went, and the next driver has undone the end.
            assert self.mail("cancel", {"kind": "cancel"})[0].kind == "mail_refused"
        self.resume()
        assert before == [event.node for event in self.events if event.kind == "artifact_produced"][: len(before)]
        return True

    def generated(self, request_id):
        opened = self.state.run.calls.open.get(request_id)
        if opened is not None and self.state.is_child(opened.request):
            return self.child_ended(opened.request)
        made = (cause if call_of(request_id).endswith("/c") else reply)(self.dice, self.weather, self.count)
        if isinstance(made, Fault):
            if made.kind.refunded:
                self.refunded.add(request_id)
            return self.kept(Faulted(request_id, self.now, 0.3, made))
        return self.kept(Generated(request_id, self.now, 0.3, made))

    def child_ended(self, request):
        """Return what a run of its own brings: its reply, and what it took of what was reserved."""
        reserve = request.reserve
        cost = Amount(self.dice.randint(1, reserve.calls), self.dice.randint(0, reserve.tokens), reserve.micro_usd)
        made = Reply(text=f'{{"number": {self.count}}}', usage=None, model="toy")
        return self.kept(Generated(request.request_id, self.now, 0.3, made, cost))

    def kept(self, message):
        self.sent.append(message)
        return message

    def respond(self, request):
        """Let the user answer a question, decline it, or at first answer it with what does not fit."""
        self.now += self.dice.choice((1.0, 90_000.0))
        name = request.question_id
        if request.reached is not None and self.dice.random() < 0.9:
            self.answer_at_limit(request)
        elif self.dice.random() < 0.2:
            batch = self.mail(f"answer:{name}", {"kind": "decline", "question": name})
            assert batch[0].kind == "clarification_declined"
        elif self.dice.random() < 0.2 and request.answer_schema != TEXT:
            batch = self.mail("odd", {"kind": "answer", "question": name, "answer": "what fits nothing"})
            assert batch[0].kind == "mail_refused"
        else:
            self.answer(name)

    def answer_at_limit(self, request):
        """Let the user raise the limit, name another model, or stop; one answer lacks the price of its model."""
        price = self.config.price
        change = {"model": "other", "price": None if price is None else price.model_dump(mode="json")}
        words = self.dice.choice((*request.reached.more, *request.reached.more, "stop", "model: other", "model: none"))
        body = {"kind": "answer", "question": request.question_id, "answer": words}
        batch = self.mail("limit", body | ({"change": change} if words == "model: other" else {}))
        assert batch[0].kind == ("mail_refused" if words == "model: none" else "clarification_answered")

    def answer(self, question):
        """Let the user answer a question, and nothing be lost of it."""
        request, text = self.state.run.questions[question].request, f"#A{self.count}#"
        if request.reached is not None:
            words = next(iter(request.reached.more))
        elif request.review:
            words = "approve" if self.dice.random() < self.weather.passes else f"reject: #R{self.count}# is wrong"
        else:
            words = {"text": f"{text} \ud800", "yes_no": "y", "choice": "Red"}[answer_form(request.answer_schema)]
        batch = self.mail(f"answer:{question}", {"kind": "answer", "question": question, "answer": words})
        assert batch[0].kind == "clarification_answered"
        if any(text in clarified.answer for clarified in self.state.run.clarifications):
            self.answers.append(text)  # A torn batch leaves the answer in the inbox; it is asked for again.

    def mail(self, key, body):
        return self.send(Mailed(self.count, key, json.dumps(body), self.now))

    def tell(self):
        """Let the user say something of their own accord."""
        kind, text = self.dice.choice(("note", "requirement")), f"#T{self.count}#"
        batch = self.mail(f"tell:{self.count}", {"kind": kind, "text": f" {text} "})
        assert batch is None or batch[0].kind == f"{kind}_told"

    def disturb(self):
        """Let something happen that nobody asked for."""
        dice = self.dice
        self.now += dice.choice((0.0, 1.0))
        chance = dice.random()
        if chance < self.weather.cancel:
            self.cancel()
        elif chance < 0.15 and (closed := self.closed()):
            self.answer(dice.choice(closed))
        elif chance < 0.25 and self.sent:
            self.again()
        elif chance < 0.4 and self.state.run.ledger.forfeited:
            self.late()
        elif chance < 0.55:
            self.resume()
        elif chance < 0.7:
            self.send(Parking(self.now))
        elif chance < 0.8:
            body = dice.choice(("", "[]", "[" * 100_000, '{"kind": "answer"}', '{"kind": "answer", "question": []}'))
            self.send(Mailed(self.count, "odd \ud800", body, self.now))
        elif chance < 0.9:
            self.tell()
        elif 0.93 < chance < 0.95:
            back = dice.choice((0.5, 5_000.0))  # Somebody sets the clock.
            self.now, self.claimed = self.now - back, self.claimed - back
        elif 0.95 < chance < 0.98:
            self.change()
        elif chance > 0.995:
            self.send(Crashed("x", self.now, "a bug \ud800"))

    def change(self):
        """Let the user change a limit, or give the run another model of the same price."""
        price = self.config.price
        other = {"model": "other", "price": None if price is None else price.model_dump(mode="json")}
        change = self.dice.choice((other, {"calls": self.state.run.ledger.limits.calls + 1}, {"deadline": 0.0}, {}))
        self.mail(f"change:{self.count}", {"kind": "change", **change})

    def cancel(self):
        """Let the user cancel the run."""
        self.send(Mailed(self.count, "cancel", '{"kind": "cancel"}', self.now))

    def again(self):
        """Send a duplicate, or an answer to what an earlier driver asked for."""
        self.send(replace(self.dice.choice(self.sent), at=self.now))

    def late(self):
        """Let a reply come in to a request that was withdrawn."""
        self.comes_late(self.dice.choice(sorted(self.state.run.ledger.forfeited)))

    def comes_late(self, request_id):
        """Let the reply to a withdrawn request come in, if it was sent: what it has used is known then."""
        if request_id in self.started and request_id not in self.refunded:
            message = self.generated(request_id)
            assert self.send(message) or isinstance(message, Faulted), "a late reply is not booked"

    def closed(self):
        """Return the questions that are gone on without, and that may be answered all the same."""
        late = (Status.WITHDRAWN, Status.EXPIRED)
        return [name for name, one in self.state.run.questions.items() if one.status in late and one.counts]

    def crash(self):
        """Kill the driver while it writes a batch; the next one starts from as much of it as was written."""
        kept = len(self.events) - self.dice.randint(0, self.batch)
        del self.events[max(1, kept) :]
        self.resume()

    def resume(self):
        """Start over from the journal, under a new epoch."""
        self.state = fold(MACHINE, self.events)
        self.invariants = Invariants(self.config, self.limits)
        self.invariants.replay(self.events)
        self.epoch += 1
        self.batch = 0
        self.now += self.dice.choice((0.0, 5.0, 500.0))
        self.claimed = self.now
        message = Resumed(self.epoch, self.now, at_once=self.dice.random() < 0.5)
        end = self.state.run.finished
        if end is None or self.state.run.undoes_end(at_once=message.at_once):
            assert MACHINE.accept(self.state, message) is not None
            self.send(message)
        return True

    def close(self):
        """Check the whole: refolding, late replies after the end, prefixes, and what the provider was asked for."""
        if self.state.run.finished is not None:
            for request_id in sorted(self.started.keys() & self.state.run.ledger.forfeited.keys())[:3]:
                self.comes_late(request_id)
        assert fold(MACHINE, self.events) == self.state, "the journal gives another state"
        assert len(self.invariants.heard) == len(self.state.run.clarifications)
        assert self.invariants.messages == [said.text for said in self.state.run.messages]
        shown = "".join(clarified.answer for clarified in self.state.run.clarifications)
        assert all(answer in shown for answer in self.answers), "an answer is lost"
        free = {step for step, budget in self.config.graph.budgets.items() if budget.deterministic}
        paid = self.started.keys() - self.refunded
        asked = [name for name in paid if name.split("/")[0] not in free or call_of(name).endswith("/c")]
        assert len(asked) <= self.state.run.ledger.committed.calls, (
            "the provider was asked more often than the books say"
        )
        start_anywhere(MACHINE, self.events, self.epoch + 1, self.now + 1.0)
