"""The oracle of a simulated run: it checks invariants from committed records and from requests that reach the provider.

It shares no accounting code with the runtime. It raises nothing, since an actor would treat the error as its own:
violations are collected in `violations` and raised at the end of the simulation.
"""

import json
from dataclasses import dataclass, field

import trio

from actors.planning.events import branch_of
from actors.run.ids import step_of
from actors.run.waits import DEADLINE
from runtime.core.ledger import Amount

AFTER_AN_END = frozenset(
    {
        "run_resumed",
        "note_told",
        "requirement_told",
        "settings_changed",
        "mail_refused",
        "clarification_answered",
        "clarification_declined",
    }
)
"""What may follow an end that is not final."""
DONE = ("artifact_produced", "failure_classified", "generation_failed")


@dataclass
class RequestEntry:
    """A model request, in the journal since `at` (trio's time). `closed` is the number of the record that ended it."""

    epoch: int
    seq: int
    reserve: Amount
    at: float
    state: str = "open"
    closed: int = 0


@dataclass
class Oracle:
    """Independent state of one run. `charged` is the amount of each request; `home_limited`: the home has a budget.

    `active`: the active seconds, as far as commits take no time.
    """

    records: list = field(default_factory=list)
    violations: list = field(default_factory=list)
    limits: object = None
    requests: dict = field(default_factory=dict)
    charged: dict = field(default_factory=dict)
    sent: dict = field(default_factory=dict)
    returned: dict = field(default_factory=dict)
    judging: dict = field(default_factory=dict)
    waits: dict = field(default_factory=dict)
    steps_done: dict = field(default_factory=dict)
    questions: dict = field(default_factory=dict)
    unanswered: set = field(default_factory=set)
    all_questions: dict = field(default_factory=dict)
    answers: dict = field(default_factory=dict)
    declined_steps: set = field(default_factory=set)
    pruned: set = field(default_factory=set)
    messages: list = field(default_factory=list)
    consumed: list = field(default_factory=list)
    epoch: int = 0
    parked: bool = False
    handover: bool = False
    parked_why: str = ""
    home_limited: bool = False
    parked_at: int = 0
    active: float = 0.0
    committed_at: float = 0.0
    finished: object = None

    def expect(self, condition, violation):
        if not condition:
            self.violations.append(violation)

    def committed(self, records, summary, holder):
        """Check one committed batch: its records, its status row, and the epoch of the current driver.

        A driver that takes the run over may take changed settings before older messages, in one batch with them.
        """
        self.count_active(records[0])
        before = len(self.consumed)
        for record in records:
            self.expect(record.seq == len(self.records) + 1, f"record {record.seq} is out of order")
            self.expect(record.epoch == holder, f"record {record.seq} was written by a driver that had lost the run")
            self.records.append(record)
            self.observe(record, record.event)
        batch = self.consumed[before:]
        taken_over = any(record.event.kind == "run_resumed" for record in records)
        self.expect(taken_over or batch == sorted(batch), "messages are consumed out of order")
        self.consumed[before:] = sorted(batch)
        stale = [name for name in self.open() if name not in self.current()]
        # Where the daily budget does not allow every reissue, the remaining requests wait for the next message.
        pending = self.current() or self.judging or self.waits
        waits = not self.waits.keys().isdisjoint(("home_budget", "provider"))  # Nothing is asked of models meanwhile.
        postponed = self.parked or waits or (self.home_limited and pending)
        self.expect(postponed or not stale, f"{stale} of an earlier driver is neither reissued nor withdrawn")
        self.check_row(summary)

    def count_active(self, first):
        """Add the time since the last commit by trio's clock, if work was open and the same driver has it."""
        now, working = trio.current_time(), bool(self.open() or self.judging)
        if working and first.epoch == self.epoch and self.finished is None:
            self.active += now - self.committed_at
        self.committed_at = now

    def open(self):
        return {name: entry for name, entry in self.requests.items() if entry.state == "open"}

    def current(self):
        """Return the open model requests of the driver that holds the run."""
        return {name: entry for name, entry in self.open().items() if entry.epoch >= self.epoch}

    def observe(self, record, event):
        kind = event.kind
        reopens = self.finished is not None and not self.finished.final and kind in AFTER_AN_END
        self.expect(self.finished is None or kind == "settled" or reopens, f"{kind} after the end")
        if record.inbox is not None:
            self.expect(record.inbox not in self.consumed, f"message {record.inbox} is consumed twice")
            self.consumed.append(record.inbox)
        match kind:
            case "run_started":
                self.limits, self.epoch = event.limits, record.epoch
            case "run_resumed":
                self.waits.pop("home_budget", None)  # A new driver requests the wait again.
                self.finished = None
                if event.at_once:  # A person does not wait; the provider that is waited for is asked at once.
                    self.waits = {
                        name: wait.model_copy(update={"until": event.at}) if name == "provider" else wait
                        for name, wait in self.waits.items()
                        if name == "provider" or not name.startswith("wait:")
                    }
                self.expect(event.epoch == record.epoch, "a driver resumed under another epoch")
                self.epoch, self.parked, self.parked_why = event.epoch, False, ""
            case "run_parked":
                self.parked, self.parked_at, self.handover = True, record.seq, event.handover
                self.parked_why = event.why
            case "judgement_requested":
                self.judging[event.node] = event.step
            case "verdict_reached":
                person = any(part.guard == "human_review" for part in (event.verdict, *event.verdict.parts))
                reviews = [item for item in self.all_questions.values() if item.review and item.node == event.node]
                known = (
                    self.judging.pop(event.node, None)
                    if not person
                    else reviews or step_of(event.node) in self.declined_steps
                )
                self.expect(known, f"{event.node} is judged twice, or by nobody")
            case "revised":
                branch = event.branch
                self.revised(record, lambda node: step_of(node) in event.cleared and branch in (None, branch_of(node)))
            case "branch_pruned":
                self.revised(record, lambda node: branch_of(node) == event.branch)
                self.pruned.add(event.branch)
            case "wait_requested":
                self.waits[event.request_id] = event
            case "wait_ended":
                self.expect(event.at >= self.waits[event.request_id].until, "woken too early")
                del self.waits[event.request_id]
            case "run_finished":
                self.finished = event
                for name in self.open():
                    self.close(name, "withdrawn", record)
                if event.final:
                    self.questions, self.waits, self.judging = {}, {}, {}
            case _:
                self.people(record, event)
                self.model(record, event)

    def people(self, record, event):
        match event.kind:
            case "clarification_requested":
                self.expect(
                    event.question_id not in self.all_questions, f"{event.question_id} is used for two questions"
                )
                self.all_questions[event.question_id] = event
                self.questions[event.question_id] = event.step
                self.unanswered.add(event.question_id)
            case "clarification_answered" | "clarification_declined":
                self.expect(event.question_id in self.unanswered, f"{event.question_id} is closed twice by people")
                self.expect(record.inbox is not None, "an answer without a message")
                self.unanswered.discard(event.question_id)
                self.close_question(event.question_id)
                if event.kind == "clarification_declined":
                    self.declined_steps.add(self.all_questions[event.question_id].step)
                if event.kind == "clarification_answered" and not self.all_questions[event.question_id].review:
                    self.answers[event.question_id] = (record.seq, event.answer)
            case "clarification_withdrawn" | "clarification_expired":
                self.expect(event.question_id in self.questions, f"{event.question_id} is closed, but was not open")
                self.close_question(event.question_id)
                self.declined_steps.add(self.all_questions[event.question_id].step)
                if self.all_questions[event.question_id].review:
                    self.unanswered.discard(event.question_id)
            case "clarification_reminded" | "clarification_escalated":
                self.reminded(event)
            case "note_told" | "requirement_told":
                self.expect(record.inbox is not None, "a note or requirement without a message")
                self.messages.append((record.seq, event.kind.removesuffix("_told"), event.text))
            case "settings_changed":
                self.expect(record.inbox is not None, "a change without a message")
                self.limits = event.limits or self.limits
            case "mail_refused":
                self.expect(record.inbox is not None, "a refusal without a message")

    def reminded(self, event):
        """Check an event about the reminders of a question: it is open, and each step is done once."""
        name, steps = event.question_id, self.all_questions[event.question_id].reminders.steps
        done = self.steps_done.get(name, 0)
        self.expect(name in self.questions, f"people are reminded of {name}, which is closed")
        self.expect(done < event.steps_done <= len(steps), f"a step of the reminders of {name} is done twice")
        asked = [person for step in steps[done : event.steps_done] for person in step.ask]
        self.expect(asked == list(getattr(event, "added", ())), f"{asked} should be asked {name}")
        self.steps_done[name] = event.steps_done

    def close_question(self, name):
        self.questions.pop(name, None)
        self.waits.pop(f"expires:{name}", None)
        self.waits.pop(f"reminds:{name}", None)

    def model(self, record, event):
        """Check and apply an event about a model request."""
        match event.kind:
            case "generation_requested" | "classification_requested":
                self.request(record, event)
            case "request_reissued":
                self.close(event.replaces, "withdrawn", record)
                self.request(record, event.again)
            case "artifact_produced" | "failure_classified":
                self.expect(self.requests[event.request_id].state == "open", f"{event.request_id} is answered twice")
                self.close(event.request_id, "answered", record)
                self.charged[event.request_id] = event.used
                self.replied(event.request_id, event)
            case "generation_failed":
                self.expect(self.requests[event.request_id].state == "open", f"{event.request_id} is answered twice")
                self.close(event.request_id, "failed", record)
                if event.refunded:
                    self.charged[event.request_id] = Amount()
            case "settled":
                self.expect(
                    self.requests[event.request_id].state in ("withdrawn", "failed"), "settled while it was open"
                )
                self.requests[event.request_id].state = "settled"
                self.charged[event.request_id] = event.used

    def request(self, record, event):
        """Check that a request is new, within every limit, and not made in a parked run or a pruned branch."""
        name = event.request_id
        self.expect(name not in self.requests, f"{name} is used for two requests")
        self.expect(not self.parked, f"{name} is requested after parking")
        self.expect(branch_of(name) not in self.pruned, f"{name} is requested in a pruned branch")
        self.requests[name] = RequestEntry(record.epoch, record.seq, event.reserve, trio.current_time())
        self.charged[name] = event.reserve
        total, limits = sum(self.charged.values(), Amount()), self.limits
        self.expect(total.calls <= limits.calls, f"{total.calls} of {limits.calls} calls")
        self.expect(limits.tokens is None or total.tokens <= limits.tokens, f"{total.tokens} of {limits.tokens} tokens")
        fits = limits.micro_usd is None or total.micro_usd <= limits.micro_usd
        self.expect(fits, f"{total.micro_usd} of {limits.micro_usd} micro-dollars")

    def replied(self, name, event):
        """Check that an artifact has the text and the usage of the provider's reply."""
        reply = self.returned.get(name, (None, None))[1]
        if reply is None:
            self.expect(False, f"{name} is answered, but was never sent")
            return
        self.expect(event.content == reply.text.encode("utf-8", "replace").decode(), f"{name} has another content")
        tokens = self.requests[name].reserve.tokens if reply.usage is None else reply.usage.tokens
        self.expect(event.used.tokens == tokens and event.used.calls == 1, f"{name} is settled at {event.used}")

    def close(self, name, state, record):
        self.requests[name].state, self.requests[name].closed = state, record.seq

    def revised(self, record, void):
        """Withdraw the open work on the nodes that `void` selects."""
        for name in self.open():
            if void(name):
                self.close(name, "withdrawn", record)
        self.judging = {node: step for node, step in self.judging.items() if not void(node)}
        self.waits = {name: wait for name, wait in self.waits.items() if not wait.node or not void(wait.node)}

    def check_row(self, summary):
        idle = not (self.current() or self.judging)
        wake = min((wait.until for wait in self.waits.values()), default=None) if idle else None
        if self.finished is not None:
            expected = ("finished", str(self.finished.outcome), None)
        elif self.questions and idle:
            expected = ("waiting", next(iter(self.questions)), wake)
        else:
            parked = ("running" if self.handover else "parked", self.parked_why, None)
            left = [wait.why for wait in self.waits.values() if wait.for_provider and wait.node is None]
            # Decisions are left where only the deadline could wake the run, so that it is due at once.
            wake = None if self.waits.keys() == {DEADLINE} else wake
            expected = parked if self.parked else ("running", left[0] if left and idle else "", wake)
        row = (summary.status, summary.detail, summary.next_wake)
        self.expect(row == expected, f"the row shows {row}, the events {expected}")

    def request_sent(self, process, name, material):
        """Check a request that reaches the provider: committed, open as far as its driver knows, and sent once."""
        entry = self.requests.get(name)
        if entry is None:
            self.expect(False, f"{name} is sent before its record is committed")
            return
        self.expect(name not in self.sent, f"{name} is sent twice")
        self.sent[name] = process
        self.expect(entry.epoch == process.epoch, f"{name} is sent by a driver that did not request it")
        is_open = entry.state == "open" or entry.closed > process.acked
        self.expect(is_open, f"{name} is sent although its driver knows that it is {entry.state}")
        self.expect(not (self.parked and self.parked_at in process.acks), f"{name} is sent after parking")
        # When the stop is requested the driver may be reading; then it appends its batch, less after each refusal.
        operations = 2 + process.refused_since_stop
        late = (
            process.stop_requested_at is not None
            and entry.at > process.stop_requested_at + operations * process.world.fault_rates.slow
        )
        self.expect(not late, f"{name} is requested and sent after the stop was requested")
        self.expect(not process.cancelled_before, f"{name} is sent by a driver that came after the cancel")
        shown = [clarified["answer"] for clarified in material["clarifications"]]
        due = [answer for seq, answer in self.answers.values() if seq < entry.seq]
        self.expect(all(answer in shown for answer in due), f"{name} lacks an answer of the user")
        for kind, shown in (("note", material["notes"]), ("requirement", material["requirements"])):
            due = [text for seq, posted, text in self.messages if posted == kind and seq < entry.seq]
            self.expect(due == shown, f"{name} shows the {kind}s {shown}, and not {due}")

    def call_ended(self, process, name, now):
        """Check that a call which its driver knows to be withdrawn was cancelled at once."""
        entry = self.requests.get(name)
        if entry is not None and entry.state == "withdrawn" and entry.closed in process.acks:
            self.expect(now <= process.acks[entry.closed], f"{name} goes on after it was withdrawn")

    def driver_left(self, process, ending):
        """Check a driver that returned: none of its paid replies is lost, and its ending agrees with the records."""
        by_request = {record.event.request_id for record in self.records if record.event.kind in (*DONE, "settled")}
        for name, (sender, reply) in self.returned.items():
            if sender is process and reply is not None:
                self.expect(name in by_request, f"the reply to {name} had arrived, and is lost")
        match ending:
            case "finished":
                self.expect(self.finished is not None, "the driver ended as finished, but the run is not")
            case "waiting" if process.acked == len(self.records):  # Otherwise another driver has written since.
                hosted = process.more.get("rest_after") is not None
                others = [name for name, wait in self.waits.items() if wait.node and not hosted]
                left = any(wait.for_provider and wait.node is None for wait in self.waits.values())
                reason = self.questions or left or (hosted and self.waits)
                self.expect(reason, "the driver ended as waiting without an open question")
                self.expect(
                    not (self.current() or self.judging or others), "the driver ended as waiting beside open work"
                )
            case "parked":
                self.expect(self.parked, "the driver ended as parked without a record")
                self.expect(process.stop.requested.is_set() or self.parked_why, "parked without a stop request")

    def check_messages(self, items):
        """Check that each consumed message is one that was posted, and each answer the first one for its question."""
        for record in self.records:
            event = record.event
            if record.inbox is None:
                continue
            if event.kind == "clarification_answered":
                posted = json.loads(items[record.inbox - 1].body)
                same = posted["question"] == event.question_id and posted["answer"] == event.answer
                self.expect(same, f"{event.question_id} has another answer than the one that was accepted")
            elif event.kind == "clarification_declined":
                posted = json.loads(items[record.inbox - 1].body)
                same = posted == {"kind": "decline", "question": event.question_id}
                self.expect(same, f"{event.question_id} is recorded as declined, but the message says otherwise")
            elif event.kind in ("note_told", "requirement_told"):
                posted = json.loads(items[record.inbox - 1].body)
                same = posted == {"kind": event.kind.removesuffix("_told"), "text": event.text}
                self.expect(same, "the record differs from the posted message")
