"""A mail server takes a message over checked TLS, refuses it for a while or for good, and cannot hold up or leak."""

import time

import pytest
import trio

from replan.mail import smtp
from replan.mail.question_mail import mail_about
from replan.mail.smtp import MailChannel, MailConnection
from replan.relay.message_sender import SendResult
from runtime.logs.redact import Redactor
from tests.e_mail.samples import about, addressee, record
from tests.support.mail_server import certificate, mail_server

PASSWORD = "correct-horse-battery"
LOGIN = {"user": "replan", "password_env": "SMTP_PASSWORD"}


def send(server, password="", message=b"Subject: x\r\n\r\n.\r\nbody\r\n", **mail):
    to = addressee(port=server.port, **mail)
    return MailConnection(to.mail, password).send("ana@example.org", message)


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_message_is_sent_over_tls_after_signing_in(trusted, security):
    with mail_server(trusted, tls_first=security == "tls") as server:
        server.users["replan"] = PASSWORD
        assert send(server, PASSWORD, security=security, **LOGIN) == SendResult()
    [taken] = server.messages
    assert (taken.sender, taken.to) == ("replan@example.org", ["ana@example.org"])
    assert (taken.secure, taken.user, taken.data) == (True, "replan", b"Subject: x\r\n\r\n.\r\nbody\r\n")


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_certificate_that_is_not_trusted_or_for_another_name_is_refused(pem, tmp_path, monkeypatch, security):
    other = certificate(tmp_path, "other.example.org")
    for served, trusted_file in ((pem, None), (other, other)):
        if trusted_file is not None:
            monkeypatch.setenv("SSL_CERT_FILE", str(trusted_file))
        with mail_server(served, tls_first=security == "tls") as server:
            server.users["replan"] = PASSWORD
            result = send(server, PASSWORD, security=security, **LOGIN)
        assert result.problem.startswith("the certificate is not accepted")
        assert not result.refused
        assert server.messages == []


def test_without_starttls_nothing_is_sent_in_the_clear(plain):
    plain.users["replan"] = PASSWORD
    result = send(plain, PASSWORD, security="starttls", **LOGIN)
    assert result == SendResult("the server offers no STARTTLS, or no way to sign in")
    assert plain.messages == []


REPLIES = {
    "greylisted": ({"RCPT": "450 later"}, "status 450", False),
    "no such person": ({"RCPT": "550 no such person hunter2"}, "status 550", True),
    "sender refused": ({"MAIL": "553 not you"}, "status 553", True),
    "sender later": ({"MAIL": "451 later"}, "status 451", False),
    "sign in first": ({"MAIL": "530 sign in"}, "status 530", False),
    "content refused": ({"DONE": "554 spam"}, "status 554", True),
    "disk full": ({"DONE": "452 disk full"}, "status 452", False),
    "too large": ({"MAIL": "552 too large"}, "status 552", True),
    "busy": ({"GREETING": "421 busy"}, "status 421 (SMTPConnectError)", False),
    "closed": ({"GREETING": "554 no"}, "status 554 (SMTPConnectError)", False),
    "leaves": ({"RCPT": lambda session: session.leave()}, "SMTPServerDisconnected", False),
    "nonsense": ({"EHLO": "what?", "HELO": "what?"}, "", False),
}


@pytest.mark.parametrize("reply", REPLIES)
def test_a_permanent_refusal_of_the_message_is_final_and_everything_else_is_tried_again(plain, reply):
    own, problem, refused = REPLIES[reply]
    plain.behave = lambda _: own
    result = send(plain)
    assert result.refused == refused
    assert result.problem == problem if problem else result.problem
    assert "hunter2" not in result.problem


def test_a_wrong_password_is_tried_again_and_never_shown(trusted, caplog):
    with mail_server(trusted) as server:
        server.users["replan"] = "another"
        result = send(server, PASSWORD, security="starttls", **LOGIN)
    assert result == SendResult("status 535 (SMTPAuthenticationError)")
    assert PASSWORD not in caplog.text + repr(result)


def test_a_message_that_was_taken_counts_whatever_the_server_says_after_it(plain):
    for goodbye in ("500 no", "421 leaving", lambda session: session.leave()):
        plain.behave = lambda _, goodbye=goodbye: {"QUIT": goodbye}
        assert send(plain) == SendResult()
    assert len(plain.messages) == 3


def endless(session):
    try:
        while True:
            session.wfile.write(b"250-and another line of what it offers\r\n" * 100)
    except OSError:
        session.own["endless"] = True


def test_a_server_that_never_stops_talking_is_left(plain):
    begun = time.monotonic()
    plain.behave = lambda _: {"EHLO": endless}
    assert not send(plain).refused
    assert time.monotonic() - begun < 10


def dripping(session):
    for _ in range(300):
        session.wfile.write(b"2")
        time.sleep(0.1)


async def test_a_server_that_answers_a_byte_at_a_time_holds_up_no_thread(plain, monkeypatch):
    monkeypatch.setattr(smtp, "SEND_SECONDS", 0.5)
    plain.behave = lambda number: {"EHLO": dripping} if number == 1 else {}
    threads = trio.CapacityLimiter(1)
    to = addressee(port=plain.port)
    channel = MailChannel(to, {}, threads)
    message = mail_about(record(), about(), to, Redactor(()))
    async with channel.opened() as deliver:
        assert await deliver(message, 0.0) == SendResult("not sent in 0.5 s")
        with trio.fail_after(10):  # The only thread is free again.
            assert await deliver(message, 0.0) == SendResult()
    assert len(plain.messages) == 1


async def test_a_password_that_is_missing_is_said_by_its_variable(plain):
    to = addressee(port=plain.port, security="tls", **LOGIN)
    async with MailChannel(to, {}, trio.CapacityLimiter(1)).opened() as deliver:
        result = await deliver(mail_about(record(), about(), to, Redactor(())), 0.0)
    assert "SMTP_PASSWORD is not set" in result.problem
    assert not result.refused
