"""An e-mail about a question has a link for its person, says the same as text and as HTML, and no title breaks it."""

from email import message_from_bytes, policy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.run.ending import Outcome, RunFinished
from actors.run.reminder_events import ClarificationEscalated, ClarificationReminded, Reminders, ReminderStep
from replan.mail.question_mail import mail_about
from replan.webhooks.answer_links import AnswerLink, read_link
from replan.webhooks.chat_messages import ASKED
from replan.webhooks.messages import TITLE_MAX, Notification
from runtime.core.events import Record
from runtime.logs.redact import Redactor
from tests.e_mail.samples import PAGE, about, addressee, record

NONE = Redactor(())


def mail(title="Make it better, please.", to="ana", **fields):
    found = mail_about(record(**fields), about(title), addressee(to), NONE)
    return None if found is None else (found, message_from_bytes(found.body, policy=policy.default))


def test_it_names_the_run_and_has_a_link_for_its_person_and_until_when():
    found, parsed = mail()
    assert (parsed["to"], parsed["from"]) == ("ana@example.org", "Replan <replan@example.org>")
    assert parsed["subject"] == "A run waits for an answer: Make it better, please."
    assert parsed["message-id"] == f"<{found.id}@example.org>"
    assert (parsed["auto-submitted"], parsed["date"]) == ("auto-generated", "Sun, 09 Sep 2001 01:46:40 +0000")
    text, html = (parsed.get_body((kind,)).get_content() for kind in ("plain", "html"))
    link = next(line for line in text.splitlines() if line.startswith("https:"))
    assert f'<a href="{link}">' in html
    assert link.startswith(f"{PAGE}/answer/")
    until = 1_000_000_000 + 72 * 3600
    said = read_link(addressee().answering, link.rpartition("/")[2], 1_000_000_000.0)
    assert said == AnswerLink("ana", "abcd2345/q1", until, "email")
    assert "until 2001-09-12 01:46 UTC" in text
    assert "until 2001-09-12 01:46 UTC" in html


def test_a_repetition_has_the_same_bytes_and_each_person_and_record_another_id():
    first, again, later = mail()[0], mail()[0], mail(seq=13)[0]
    assert first == again
    assert len({first.id, later.id, mail(to="bob")[0].id}) == 3


def test_an_approval_goes_to_those_who_may_approve_and_an_end_to_nobody():
    assert mail(for_people=True) is None
    assert mail(to="bob", for_people=True) is not None
    end = Record("abcd2345", 13, 1.0, 1, RunFinished(outcome=Outcome.SUCCESS, why="", at=1.0, mono=1.0), "")
    assert mail_about(end, about(), addressee(), NONE) is None


def test_a_reminder_and_an_escalation_go_to_those_who_are_asked_and_say_what_follows():
    reminders = Reminders(
        ask=("ana",), steps=(ReminderStep(after_seconds=60), ReminderStep(after_seconds=90, ask=("bob",)))
    )
    found, parsed = mail(reminders=reminders)
    assert "a reminder is sent" in parsed.get_body(("plain",)).get_content()
    assert "a reminder is sent" in parsed.get_body(("html",)).get_content()
    assert mail(to="bob", reminders=reminders) is None
    step = {"question_id": "q1", "for_people": False, "next_at": None, "next_ask": (), "until": None, "ending": ""}
    reminded = ClarificationReminded(steps_done=1, asked=("ana",), **step)
    asked = ClarificationEscalated(steps_done=2, asked=("ana", "bob"), added=("bob",), **step)
    subjects = {}
    for seq, event in enumerate((reminded, asked), 20):
        for name in ("ana", "bob"):
            sent = mail_about(Record("abcd2345", seq, 1_000_000_000.0, 1, event, ""), about(), addressee(name), NONE)
            if sent is not None:
                subjects[seq, name] = message_from_bytes(sent.body, policy=policy.default)["subject"].partition(":")[0]
                assert sent.id != found.id
    assert subjects == {
        (20, "ana"): ASKED["reminder"],
        (21, "ana"): ASKED["escalation"],
        (21, "bob"): ASKED["escalation"],
    }


def test_each_reason_to_write_has_a_sentence_of_its_own():
    assert len({Notification("waiting", {}, asking).sentence for asking in ASKED}) == len(ASKED) == 3


HOSTILE = [
    "x\r\nBcc: eve@example.org",
    "x\nBcc: eve@example.org\n\nbody",
    "x\x0bBcc: eve@example.org\x00",
    "<script>alert(1)</script> & <a href='https://evil.example'>",
    "\u202egnp.exe \u2028Bcc: eve@example.org",
    "Schöne Grüße aus 東京 " * 12,
    "x" * 5000,
    "=?utf-8?q?=0ABcc:_eve=40example.org?=",
    "",
]


@pytest.mark.parametrize("title", HOSTILE)
def test_a_title_ends_no_header_and_is_no_markup(title):
    check(title)


@given(st.text(max_size=300))
def test_no_title_adds_a_header(title):
    check(title)


def check(title):
    found, parsed = mail(title)
    assert set(parsed.keys()) == {
        "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"
    }  # fmt: skip
    assert parsed["to"] == "ana@example.org"
    assert [part.get_content_type() for part in parsed.walk()] == ["multipart/alternative", "text/plain", "text/html"]
    html = parsed.get_body(("html",)).get_content()
    assert html.count("<a ") == 1
    assert "<script" not in html
    assert found.body.isascii()
    assert all(len(line) <= 998 for line in found.body.split(b"\r\n"))
    assert b"\n" not in found.body.replace(b"\r\n", b"")
    assert len(found.body) < 20 * TITLE_MAX + 4000


def test_a_secret_in_a_title_is_not_sent():
    found = mail_about(record(), about("The key is hunter2-hunter2"), addressee(), Redactor(["hunter2-hunter2"]))
    assert b"hunter2" not in found.body
