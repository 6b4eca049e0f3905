"""Sends one e-mail through an SMTP server, with `smtplib` in a worker thread, and returns the result.

The server's certificate is checked, and a password is sent over TLS only. Of the server's replies only the status code
is kept and logged, and their length is limited.
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

from replan.mail.question_mail import MailRecipient, mail_about
from replan.relay.message_sender import AT_ONCE_MAX, About, OutgoingMessage, Send, SendResult
from replan.setup.mail import MailEntry
from replan.webhooks.messages import without_closed
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.logs.redact import Redactor, secrets_in

STEP_SECONDS = 15.0
"""The time limit of one step, such as the connection or a reply."""
SEND_SECONDS = 60.0
"""The time limit of one try."""
REPLY_BYTES_MAX = 64 * 1024
"""The most bytes of a server's replies over one connection."""
SIGN_IN_CODES = frozenset({530, 534, 535, 538})
"""The 5xx codes about signing in: the settings or the server are wrong, and not the message."""


class _Replies:
    """A file with a server's replies. It raises `OSError` after `left` bytes."""

    def __init__(self, file: IO[bytes], left: int) -> None:
        self._file, self._left = file, left

    def readline(self, size: int) -> bytes:
        line = self._file.readline(min(size, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise OSError("the server's replies are too long")
        return line

    def close(self) -> None:
        self._file.close()


class _Bounded(smtplib.SMTP):
    """`smtplib.SMTP` with a limit for the length of replies. It calls `before_connect` with itself."""

    def __init__(self, *, before_connect: Callable[[smtplib.SMTP], None], **options: Any) -> None:
        self._before_connect = before_connect
        super().__init__(**options)

    def connect(self, *arguments: Any, **options: Any) -> tuple[int, bytes]:
        self._before_connect(self)
        return super().connect(*arguments, **options)

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file: Any = _Replies(self.sock.makefile("rb"), REPLY_BYTES_MAX)
        return super().getreply()


class _BoundedTls(_Bounded, smtplib.SMTP_SSL):
    """The same with TLS from the beginning."""


class MailConnection:
    """A connection to an SMTP server for use in a worker thread. Another thread can abort it."""

    def __init__(self, mail: MailEntry, password: str) -> None:
        """Set the server and the password of its user; `send` and `check` connect."""
        self._mail, self._password = mail, password
        self._client: smtplib.SMTP | None = None
        self._is_aborted = False

    def send(self, to: str, message: bytes) -> SendResult:
        """Send a message to one address. This blocks. Failures are returned, not raised."""
        try:
            client = self._open()
            try:
                if self._is_aborted:  # While it connected.
                    return SendResult("aborted")
                client.sendmail(self._mail.sender, [to], message)
            finally:
                _close(client)
        except smtplib.SMTPRecipientsRefused as error:
            return _refusal(error.recipients[to][0])
        except (smtplib.SMTPSenderRefused, smtplib.SMTPDataError) as error:
            return _refusal(error.smtp_code)
        except (SMTPException, OSError, ValueError) as error:
            return SendResult(problem_of(error))
        return SendResult()

    def check(self) -> None:
        """Connect, sign in and disconnect. Raises `smtplib.SMTPException` and `OSError`."""
        _close(self._open())

    def abort(self) -> None:
        """Shut the connection down from another thread, so that the worker thread ends."""
        self._is_aborted = True
        open_socket = None if self._client is None else self._client.sock
        if open_socket is not None:
            with suppress(OSError):  # The worker thread may have closed it.
                socket.socket.shutdown(open_socket, socket.SHUT_RDWR)

    def _keep(self, client: smtplib.SMTP) -> None:
        self._client = client

    def _open(self) -> smtplib.SMTP:
        """Return a client that has connected and signed in."""
        context, (host, port) = ssl.create_default_context(), self._mail.address
        options: dict[str, Any] = {"host": host, "port": port, "timeout": STEP_SECONDS, "before_connect": self._keep}
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


def _close(client: smtplib.SMTP) -> None:
    """Close a connection. An error is ignored: the result of the message is known before."""
    with suppress(SMTPException, OSError, ValueError):
        client.quit()
    client.close()


def problem_of(error: Exception) -> str:
    """Return the cause of a failure, without the text of the server's reply: its code, or the name of the error."""
    if isinstance(error, smtplib.SMTPResponseException):
        return f"status {error.smtp_code} ({type(error).__name__})"
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return "the server offers no STARTTLS, or no way to sign in"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not accepted: {error.verify_message}"
    return type(error).__name__


def _refusal(code: int) -> SendResult:
    """Return the result for the code of a refusal: 5xx refuses the message for good, except for `SIGN_IN_CODES`."""
    return SendResult(f"status {code}", refused=code // 100 == 5 and code not in SIGN_IN_CODES)


class MailChannel:
    """A channel that sends messages to one person by e-mail."""

    topic = "mail"

    def __init__(self, to: MailRecipient, environment: Mapping[str, str], threads: trio.CapacityLimiter) -> None:
        """Set the person, the environment with the password, and the limit of threads that send at the same time."""
        self.name, self._to, self._environment, self._threads = to.name, to, environment, threads
        self._redactor = Redactor(secrets_in(environment))

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Send]:
        """Yield the function that sends a message, each over a connection of its own."""
        yield self._send

    def messages_about(self, records: Sequence[Record[Any]], about: About) -> list[OutgoingMessage]:
        """Return the e-mails to this person about new records of a run, in their order."""
        found = [mail_about(record, about, self._to, self._redactor) for record in without_closed(records)]
        return [message for message in found if message is not None]

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
            connection.abort()
        return SendResult(f"not sent in {SEND_SECONDS:g} s")


def mail_threads() -> trio.CapacityLimiter:
    """Return the limit of threads that send e-mail at the same time, for all people together."""
    return trio.CapacityLimiter(AT_ONCE_MAX)
