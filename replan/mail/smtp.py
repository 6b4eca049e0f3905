"""Sends one e-mail through a server, by `smtplib` in a worker thread, and says what became of it.

A certificate is checked for the server's name, and the password is sent over TLS alone. What a server says is neither
kept nor logged, only its code, and what it may say is bounded.
"""

import smtplib
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from smtplib import SMTPException
from typing import IO, Any

import trio

from replan.mail.question_mail import MailTo, mail_about
from replan.relay.message_sender import AT_ONCE_MAX, About, OutgoingMessage, Send, SendResult
from replan.setup.mail import MailEntry
from replan.webhooks.messages import without_closed
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.logs.redact import Redactor, secrets_in

STEP_SECONDS = 15.0
"""How long the server may take for one step, such as connecting or an answer."""
SEND_SECONDS = 60.0
"""How long one try may take in all."""
REPLY_BYTES_MAX = 64 * 1024
"""The most bytes that a server may say over one connection."""
SIGNING_IN = frozenset({530, 534, 535, 538})
"""The permanent errors that are about the sign-in: not the message is wrong, but the settings or the server."""


class _Replies:
    """What a server says, until it has said too much."""

    def __init__(self, file: IO[bytes], left: int) -> None:
        self._file, self._left = file, left

    def readline(self, size: int) -> bytes:
        line = self._file.readline(min(size, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise OSError("the server says too much")
        return line

    def close(self) -> None:
        self._file.close()


class _Bounded(smtplib.SMTP):
    """`smtplib.SMTP`, which would keep an endless reply; it says when it begins to connect."""

    def __init__(self, *, begun: Callable[[smtplib.SMTP], None], **options: Any) -> None:
        self._begun = begun
        super().__init__(**options)

    def connect(self, *arguments: Any, **options: Any) -> tuple[int, bytes]:
        self._begun(self)
        return super().connect(*arguments, **options)

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file: Any = _Replies(self.sock.makefile("rb"), REPLY_BYTES_MAX)
        return super().getreply()


class _BoundedTls(_Bounded, smtplib.SMTP_SSL):
    """The same over TLS from the beginning."""


class MailConnection:
    """A connection to a server of e-mail in a worker thread, which another thread can cut."""

    def __init__(self, mail: MailEntry, password: str) -> None:
        """Set the server, and the password of its user; this connects to nothing."""
        self._mail, self._password = mail, password
        self._client: smtplib.SMTP | None = None
        self._is_cut = False

    def send(self, to: str, message: bytes) -> SendResult:
        """Send a message to one address; its failures are returned. It blocks."""
        try:
            client = self._open()
            try:
                if self._is_cut:  # While it connected.
                    return SendResult("cut")
                client.sendmail(self._mail.sender, [to], message)
            finally:
                _leave(client)
        except smtplib.SMTPRecipientsRefused as error:
            return _refusal(error.recipients[to][0])
        except (smtplib.SMTPSenderRefused, smtplib.SMTPDataError) as error:
            return _refusal(error.smtp_code)
        except (SMTPException, OSError, ValueError) as error:
            return SendResult(problem_of(error))
        return SendResult()

    def check(self) -> None:
        """Connect and sign in, as before a message. Raises `smtplib.SMTPException`, `OSError`."""
        _leave(self._open())

    def cut(self) -> None:
        """End the connection from another thread, so that its own thread ends."""
        self._is_cut = True
        open_socket = None if self._client is None else self._client.sock
        if open_socket is not None:
            with suppress(OSError):  # Another's `close` may have been faster.
                socket.socket.shutdown(open_socket, socket.SHUT_RDWR)

    def _begin(self, client: smtplib.SMTP) -> None:
        self._client = client

    def _open(self) -> smtplib.SMTP:
        """Return a client that has connected and signed in."""
        context, (host, port) = ssl.create_default_context(), self._mail.address
        options: dict[str, Any] = {"host": host, "port": port, "timeout": STEP_SECONDS, "begun": self._begin}
        is_tls = self._mail.security == "tls"
        client = _BoundedTls(context=context, **options) if is_tls else _Bounded(**options)
        try:
            if self._mail.security == "starttls":
                client.starttls(context=context)
            if self._mail.user:
                client.login(self._mail.user, self._password)
            else:
                client.ehlo_or_helo_if_needed()
        except BaseException:
            client.close()
            raise
        return client


def _leave(client: smtplib.SMTP) -> None:
    """End a connection. Whether the server says goodbye changes nothing of what it has taken."""
    with suppress(SMTPException, OSError, ValueError):
        client.quit()
    client.close()


def problem_of(error: Exception) -> str:
    """Return what failed, without what the server has said: its code, or the name of the error."""
    if isinstance(error, smtplib.SMTPResponseException):
        return f"status {error.smtp_code} ({type(error).__name__})"
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return "the server offers no STARTTLS, or no way to sign in"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not accepted: {error.verify_message}"
    return type(error).__name__


def _refusal(code: int) -> SendResult:
    """Return the result of a message that was refused: for good after 5xx, but for the sign-in."""
    return SendResult(f"status {code}", refused=code // 100 == 5 and code not in SIGNING_IN)


class MailChannel:
    """One person's address as a channel of messages."""

    topic = "mail"

    def __init__(self, to: MailTo, environment: Mapping[str, str], threads: trio.CapacityLimiter) -> None:
        """Set the person, the environment with the password, and what limits the threads that send."""
        self.name, self._to, self._environment, self._threads = to.name, to, environment, threads
        self._redactor = Redactor(secrets_in(environment))

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Send]:
        """Yield what sends a message; each one has a connection of its own."""
        yield self._send

    def messages_about(self, records: Sequence[Record[Any]], about: About) -> list[OutgoingMessage]:
        """Return the e-mail about new records of a run, without those that this person is not told about."""
        told = [mail_about(record, about, self._to, self._redactor) for record in without_closed(records)]
        return [message for message in told if message is not None]

    async def _send(self, message: OutgoingMessage, _: float) -> SendResult:
        try:
            connection = MailConnection(self._to.mail, self._to.mail.password(self._environment))
        except UsageProblem as problem:
            return SendResult(str(problem))
        send = partial(connection.send, self._to.person.email, message.body)
        try:
            with trio.move_on_after(SEND_SECONDS):
                return await trio.to_thread.run_sync(send, abandon_on_cancel=True, limiter=self._threads)
        finally:
            connection.cut()
        return SendResult(f"not sent in {SEND_SECONDS:g} s")


def mail_threads() -> trio.CapacityLimiter:
    """Return what limits the connections to the server of e-mail, of all people together."""
    return trio.CapacityLimiter(AT_ONCE_MAX)
