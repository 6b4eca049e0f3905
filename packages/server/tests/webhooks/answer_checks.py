"""What has to hold of every question of a simulated home: one answer, of somebody allowed, or the declared steps."""

from actors.run.ending import RunFinished
from actors.run.questions import (
    NAMED,
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
)
from actors.run.reminder_events import ClarificationEscalated, ReminderEvent
from packages.server.tests.webhooks.answer_people import APPROVERS, PEOPLE
from packages.server.tests.webhooks.answer_world import CALM, HOOKS, HORIZON, START
from replan_server.webhooks.messages import message_id

DUE_SECONDS = 90.0
"""The virtual seconds in which a server that is not killed does what is due, also where a killed one holds a lease."""
ANSWERS = (ClarificationAnswered, ClarificationDeclined)


def check(world):
    """Check all runs of a home. Raises `AssertionError`."""
    for run in world.runs:
        asked = [each for each in world.records[run] if isinstance(each.event, ClarificationRequested)]
        if not asked:  # It was admitted while nobody served, until its deadline had passed.
            assert world.deadline is not None
            continue
        story = Story(world, run, asked[0])
        story.check_answer()
        story.check_steps()
        story.check_messages()


class Story:
    """What became of one question."""

    def __init__(self, world, run, question):
        self.world, self.run, self.people_only, self.question = world, run, world.is_approval(run), question
        self.records = [each for each in world.records[run] if getattr(each.event, "question_id", "q1") == "q1"]
        self.rules = question.event.reminders
        self.reminders = [each for each in self.records if isinstance(each.event, ReminderEvent)]
        closing = [*ANSWERS, ClarificationExpired, RunFinished]
        self.closed = next((each for each in self.records if isinstance(each.event, tuple(closing))), None)
        self.sent = [each for each in world.sent if each.run == run]

    def asked_at(self, seq):
        """Return who was asked when a record was written, by what the question declares."""
        done = max((each.event.steps_done for each in self.reminders if each.seq < seq), default=0)
        if not self.rules.ask:
            return set(PEOPLE)
        return {*self.rules.ask, *(name for step in self.rules.steps[:done] for name in step.ask)}

    def check_answer(self):
        """At most one answer, of somebody who was asked and may give it; what was said to be taken is what counts."""
        answers = [each for each in self.records if isinstance(each.event, ANSWERS)]
        assert len(answers) <= 1, answers
        taken = [each for each in self.sent if each.result == "taken"]
        assert len(taken) <= 1, taken
        for each in self.sent:
            if each.how in ("forged", "late", "eve") or (each.how == "ana" and self.people_only):
                assert each.result in ("cut", "refused"), each
                assert each.status in (0, 403, 409), each
            if each.how == "api" and self.people_only:
                assert each.result == "refused", each
        if not answers:
            # It may have come after the question had expired, or after the deadline.
            assert not taken or isinstance(self.closed.event, ClarificationExpired | RunFinished), taken
            return
        [record] = answers
        event = record.event
        assert event.via in (*NAMED, "cli", "api")
        if event.via in NAMED:
            assert event.person in self.asked_at(record.seq), (event, self.rules)
            assert event.person in APPROVERS or not self.people_only, event
        assert event.via != "api" or not self.people_only, event
        answer = getattr(event, "answer", None)
        if taken:
            assert taken[0].answer == answer, (taken, event)
        else:  # Its server was killed before it could say so.
            assert any(each.result == "cut" and each.answer == answer for each in self.sent), (self.sent, event)

    def check_steps(self):
        """Each step of the reminders is recorded once, when it is due, and not after the question was closed."""
        begun, done = self.question.at, 0
        for record in self.reminders:
            event = record.event
            assert self.closed is None or record.seq < self.closed.seq, event
            assert event.steps_done > done, event
            steps = self.rules.steps[done : event.steps_done]
            assert record.at >= begun + steps[-1].after_seconds - 1e-3, (record.at - begun, event)
            assert isinstance(event, ClarificationEscalated) == any(step.ask for step in steps), event
            done = event.steps_done
            later = self.rules.steps[done:]
            assert set(event.asked) == (self.asked_at(record.seq + 1) if self.rules.ask else set()), event
            assert event.next_ask == (later[0].ask if later else ()), event
            assert (event.next_at is None) == (not later), event
        for number, step in enumerate(self.rules.steps, 1):
            until = self.done_by(begun + step.after_seconds)
            if self.closed is not None and self.closed.at <= until:
                continue
            recorded = [each.at for each in self.reminders if each.event.steps_done >= number]
            assert until > START + HORIZON + CALM or (recorded and recorded[0] <= until), (number, step, self.rules)

    def done_by(self, due):
        """Return the time by which what is due at a time has to be recorded: after some time of one server."""
        for life in self.world.lives:
            begin = max(due, START + life.began)
            if START + life.ended_at - begin >= DUE_SECONDS:
                return begin + DUE_SECONDS
        return float("inf")

    def check_messages(self):
        """Each channel of somebody who is asked gets each message, in order; again only after a kill or a failure."""
        told = [self.question, *self.reminders]
        for hook in HOOKS:
            people = {name for name, person in PEOPLE.items() if hook in person["webhooks"]}
            ids = {message_id(self.run, record.seq): record.seq for record in self.records}
            got = [each for each in self.world.deliveries if each.hook == hook and each.id in ids]
            first = {}
            for each in got:
                first.setdefault(ids[each.id], each)
            assert list(first) == sorted(first), first
            for record in told:
                asked = self.asked_at(record.seq + 1)
                reads = not people or bool(people & asked)
                message = first.get(record.seq)
                if message is None:
                    needless = self.closed is not None and record is not self.question
                    assert not reads or needless, (hook, record)
                    continue
                assert reads, (hook, record)
                links = {name for name in people & asked if name in APPROVERS or not self.people_only}
                assert set(message.data.get("answer_links", {})) == links, message
                again = [each for each in got if ids[each.id] == record.seq]
                kills = sum(life.dead for life in self.world.lives)
                assert sum(each.acknowledged for each in again) <= 1 + kills, again
            assert set(first) <= {record.seq for record in told}, first
