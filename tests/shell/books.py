"""The books of a simulated run, kept by another hand: from committed records and from what reached the provider only.

They share no code with the runtime. Nothing is raised here, since an actor would take the error for its own: what does
not hold is written down in `broken`, for the end.
"""

import json
from dataclasses import dataclass, field

import trio

from actors.planning.ids import branch_of
from actors.run.ids import step_of
from runtime.core.ledger import Amount

DONE = ("artifact_produced", "failure_classified", "generation_failed")


@dataclass
class Asked:
    """A model request, in the journal since `at` (trio's time); `closed` is the place of what ended it."""

    epoch: int
    seq: int
    reserve: Amount
    at: float
    state: str = "open"
    closed: int = 0


@dataclass
class Books:
    """`charged` is what each request counts against the limits; `rationed` says that its home has a budget."""

    records: list = field(default_factory=list)
    broken: list = field(default_factory=list)
    limits: object = None
    asked: dict = field(default_factory=dict)
    charged: dict = field(default_factory=dict)
    sent: dict = field(default_factory=dict)
    returned: dict = field(default_factory=dict)
    judging: dict = field(default_factory=dict)
    waits: dict = field(default_factory=dict)
    questions: dict = field(default_factory=dict)
    unanswered: set = field(default_factory=set)
    every: dict = field(default_factory=dict)
    answers: dict = field(default_factory=dict)
    silent: set = field(default_factory=set)
    pruned: set = field(default_factory=set)
    messages: list = field(default_factory=list)
    consumed: list = field(default_factory=list)
    epoch: int = 0
    parked: bool = False
    handover: bool = False
    parked_why: str = ""
    rationed: bool = False
    parked_at: int = 0
    finished: object = None

    def holds(self, condition, what):
        """Write down what does not hold."""
        if not condition:
            self.broken.append(what)

    def committed(self, records, summary, holder):
        """Take one committed batch in: its records, the status row beside them, and the epoch that holds the run."""
        for record in records:
            self.holds(record.seq == len(self.records) + 1, f"record {record.seq} is out of order")
            self.holds(record.epoch == holder, f"record {record.seq} was written by a driver that had lost the run")
            self.records.append(record)
            self.observe(record, record.event)
        stale = [name for name in self.open() if name not in self.going()]
        # Where the home's budget does not allow all that is to be asked again, the rest waits for a message to come.
        to_come = self.going() or self.judging or self.waits
        saving = self.parked or "home_budget" in self.waits or (self.rationed and to_come)
        self.holds(saving or not stale, f"{stale} of an earlier driver is neither asked again nor given up")
        self.row(summary)

    def open(self):
        """Return the open model requests."""
        return {name: asked for name, asked in self.asked.items() if asked.state == "open"}

    def going(self):
        """Return the open model requests of the driver that holds the run."""
        return {name: asked for name, asked in self.open().items() if asked.epoch >= self.epoch}

    def observe(self, record, event):
        """Keep the books of one record."""
        kind = event.kind
        self.holds(self.finished is None or kind == "settled", f"{kind} after the end")
        if record.inbox is not None:
            self.holds(record.inbox not in self.consumed, f"message {record.inbox} is taken twice")
            self.consumed.append(record.inbox)
        match kind:
            case "run_started":
                self.limits, self.epoch = event.limits, record.epoch
            case "run_resumed":
                self.waits.pop("home_budget", None)  # Whoever takes the run on asks anew.
                self.holds(event.epoch == record.epoch, "a driver resumed under another epoch")
                self.epoch, self.parked, self.parked_why = event.epoch, False, ""
            case "run_parked":
                self.parked, self.parked_at, self.handover = True, record.seq, event.handover
                self.parked_why = event.why
            case "judgement_requested":
                self.judging[event.node] = event.step
            case "verdict_reached":
                person = any(part.guard == "human_review" for part in (event.verdict, *event.verdict.parts))
                asked = [one for one in self.every.values() if one.review and one.node == event.node]
                known = (
                    self.judging.pop(event.node, None) if not person else asked or step_of(event.node) in self.silent
                )
                self.holds(known, f"{event.node} is judged twice, or by nobody")
            case "revised":
                here = event.branch
                self.revised(record, lambda node: step_of(node) in event.cleared and here in (None, branch_of(node)))
            case "branch_pruned":
                self.revised(record, lambda node: branch_of(node) == event.branch)
                self.pruned.add(event.branch)
            case "wait_requested":
                self.waits[event.request_id] = event
            case "wait_ended":
                self.holds(event.at >= self.waits[event.request_id].until, "woken too early")
                del self.waits[event.request_id]
            case "run_finished":
                self.finished = event
                for name in self.open():
                    self.close(name, "withdrawn", record)
                self.questions, self.waits, self.judging = {}, {}, {}
            case _:
                self.people(record, event)
                self.model(record, event)

    def people(self, record, event):
        """Keep the books of what people were asked and have said."""
        match event.kind:
            case "clarification_requested":
                self.holds(event.question_id not in self.every, f"{event.question_id} is used for two questions")
                self.every[event.question_id] = event
                self.questions[event.question_id] = event.step
                self.unanswered.add(event.question_id)
            case "clarification_answered" | "clarification_declined":
                self.holds(event.question_id in self.unanswered, f"{event.question_id} is closed twice by people")
                self.holds(record.inbox is not None, "a person's word out of nowhere")
                self.unanswered.discard(event.question_id)
                self.close_question(event.question_id)
                if event.kind == "clarification_declined":
                    self.silent.add(self.every[event.question_id].step)
                if event.kind == "clarification_answered" and not self.every[event.question_id].review:
                    self.answers[event.question_id] = (record.seq, event.answer)
            case "clarification_withdrawn" | "clarification_expired":
                self.holds(event.question_id in self.questions, f"{event.question_id} is closed, but was not open")
                self.close_question(event.question_id)
                self.silent.add(self.every[event.question_id].step)
                if self.every[event.question_id].review:
                    self.unanswered.discard(event.question_id)
            case "note_told" | "requirement_told":
                self.holds(record.inbox is not None, "a message out of nowhere")
                self.messages.append((record.seq, event.kind.removesuffix("_told"), event.text))
            case "mail_refused":
                self.holds(record.inbox is not None, "a refusal of no message")

    def close_question(self, name):
        """Nobody waits for the question any more, nor for its expiry."""
        self.questions.pop(name, None)
        self.waits.pop(f"expires:{name}", None)

    def model(self, record, event):
        """Keep the books of what a model was asked and has said."""
        match event.kind:
            case "generation_requested" | "classification_requested":
                self.request(record, event)
            case "request_reissued":
                self.close(event.replaces, "withdrawn", record)
                self.request(record, event.again)
            case "artifact_produced" | "failure_classified":
                self.holds(self.asked[event.request_id].state == "open", f"{event.request_id} is answered twice")
                self.close(event.request_id, "answered", record)
                self.charged[event.request_id] = event.used
                self.told(event.request_id, event)
            case "generation_failed":
                self.holds(self.asked[event.request_id].state == "open", f"{event.request_id} is answered twice")
                self.close(event.request_id, "failed", record)
                if event.fault.kind.refunded:
                    self.charged[event.request_id] = Amount()
            case "settled":
                self.holds(self.asked[event.request_id].state in ("withdrawn", "failed"), "settled while it was open")
                self.asked[event.request_id].state = "settled"
                self.charged[event.request_id] = event.used

    def request(self, record, event):
        """A request is new, is asked by whoever holds the run, not while it is parked, and within every limit."""
        name = event.request_id
        self.holds(name not in self.asked, f"{name} is used for two requests")
        self.holds(not self.parked, f"{name} is asked for after parking")
        self.holds(branch_of(name) not in self.pruned, f"{name} is asked for in a branch that was pruned")
        self.asked[name] = Asked(record.epoch, record.seq, event.reserve, trio.current_time())
        self.charged[name] = event.reserve
        total, limits = sum(self.charged.values(), Amount()), self.limits
        self.holds(total.calls <= limits.calls, f"{total.calls} of {limits.calls} calls")
        self.holds(limits.tokens is None or total.tokens <= limits.tokens, f"{total.tokens} of {limits.tokens} tokens")
        fits = limits.micro_usd is None or total.micro_usd <= limits.micro_usd
        self.holds(fits, f"{total.micro_usd} of {limits.micro_usd} micro-dollars")

    def told(self, name, event):
        """An artifact is what the provider said, at what it said that it cost."""
        reply = self.returned.get(name, (None, None))[1]
        if reply is None:
            self.holds(False, f"{name} is answered, but nobody was asked")
            return
        self.holds(event.content == reply.text.encode("utf-8", "replace").decode(), f"{name} has another content")
        tokens = self.asked[name].reserve.tokens if reply.usage is None else reply.usage.tokens
        self.holds(event.used.tokens == tokens and event.used.calls == 1, f"{name} is booked at {event.used}")

    def close(self, name, state, record):
        self.asked[name].state, self.asked[name].closed = state, record.seq

    def revised(self, record, void):
        """Work on the nodes that are void is withdrawn."""
        for name in self.open():
            if void(name):
                self.close(name, "withdrawn", record)
        self.judging = {node: step for node, step in self.judging.items() if not void(node)}
        self.waits = {name: wait for name, wait in self.waits.items() if not wait.node or not void(wait.node)}

    def row(self, summary):
        """The status row says what the events say."""
        rests = not (self.going() or self.judging)
        wake = min((wait.until for wait in self.waits.values()), default=None) if rests else None
        if self.finished is not None:
            expected = ("finished", str(self.finished.outcome), None)
        elif self.questions and rests:
            expected = ("waiting", next(iter(self.questions)), wake)
        else:
            parked = ("running" if self.handover else "parked", self.parked_why, None)
            expected = parked if self.parked else ("running", "", wake)
        shown = (summary.status, summary.detail, summary.next_wake)
        self.holds(shown == expected, f"the row shows {shown}, the events {expected}")

    def sending(self, process, name, material):
        """A request reaches the provider: it is written, is open as far as its driver can know, and goes out once."""
        asked = self.asked.get(name)
        if asked is None:
            self.holds(False, f"{name} is sent before it is written")
            return
        self.holds(name not in self.sent, f"{name} is sent twice")
        self.sent[name] = process
        self.holds(asked.epoch == process.epoch, f"{name} is sent by a driver that did not ask for it")
        wanted = asked.state == "open" or asked.closed > process.acked
        self.holds(wanted, f"{name} is sent although its driver knows that it is {asked.state}")
        self.holds(not (self.parked and self.parked_at in process.acks), f"{name} is sent after parking")
        late = process.asked_to_stop is not None and asked.at > process.asked_to_stop + 2 * process.world.troubles.slow
        self.holds(not late, f"{name} is asked for and sent after the wish to stop")
        self.holds(not process.cancelled_before, f"{name} is sent by a driver that came after the cancel")
        said = [clarified["answer"] for clarified in material["clarifications"]]
        due = [answer for seq, answer in self.answers.values() if seq < asked.seq]
        self.holds(all(answer in said for answer in due), f"{name} does not hear what the user has answered")
        for kind, heard in (("note", material["notes"]), ("requirement", material["requirements"])):
            due = [text for seq, told, text in self.messages if told == kind and seq < asked.seq]
            self.holds(due == heard, f"{name} hears {heard}, and not {due}")

    def went_on(self, process, name, now):
        """Withdrawn work is cancelled at once."""
        asked = self.asked.get(name)
        if asked is not None and asked.state == "withdrawn" and asked.closed in process.acks:
            self.holds(now <= process.acks[asked.closed], f"{name} goes on after it was withdrawn")

    def left(self, process, ending):
        """A driver has left of its own accord: no paid reply of its own is lost, and its reason to leave is true."""
        by_request = {record.event.request_id for record in self.records if record.event.kind in (*DONE, "settled")}
        for name, (sender, reply) in self.returned.items():
            if sender is process and reply is not None:
                self.holds(name in by_request, f"the reply to {name} was in hand, and is lost")
        match ending:
            case "finished":
                self.holds(self.finished is not None, "left as finished, but it is not")
            case "waiting" if process.acked == len(self.records):  # Else somebody has gone on with it meanwhile.
                hosted = process.more.get("rest_after") is not None
                others = [name for name, wait in self.waits.items() if wait.node and not hosted]
                asked = self.questions or (hosted and self.waits)
                self.holds(asked, "left to wait for people who were not asked")
                self.holds(not (self.going() or self.judging or others), "left to wait beside open work")
            case "parked":
                self.holds(self.parked, "left without parking")
                self.holds(process.stop.requested.is_set() or self.parked_why, "parked without being asked to")

    def mail(self, items):
        """A message that was taken is one that was posted; an answer is the first that was posted for its question."""
        for record in self.records:
            event = record.event
            if record.inbox is None:
                continue
            if event.kind == "clarification_answered":
                posted = json.loads(items[record.inbox - 1].body)
                same = posted["question"] == event.question_id and posted["answer"] == event.answer
                self.holds(same, f"{event.question_id} has another answer than the one that was accepted")
            elif event.kind == "clarification_declined":
                posted = json.loads(items[record.inbox - 1].body)
                same = posted == {"kind": "decline", "question": event.question_id}
                self.holds(same, f"{event.question_id} is declined, and was not")
            elif event.kind in ("note_told", "requirement_told"):
                posted = json.loads(items[record.inbox - 1].body)
                same = posted == {"kind": event.kind.removesuffix("_told"), "text": event.text}
                self.holds(same, "another message than the one that was accepted")
