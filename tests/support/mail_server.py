"""An SMTP server on the loopback interface, with or without TLS. Tests can replace its replies.

`behave` is called with the number of a connection, from 1. It returns the replies that replace the usual ones, by the
command's first word; `GREETING` is the first reply of a connection, and `DONE` the reply to the end of a message. A
reply is a line, or a function that is called with the session and writes the reply by itself.
"""

import base64
import datetime as dt
import ipaddress
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Reply = "str | Callable[[Any], None]"


@dataclass
class Taken:
    """One message that the server accepted."""

    sender: str
    to: list[str]
    data: bytes
    secure: bool
    user: str

    @property
    def parsed(self) -> EmailMessage:
        found = message_from_bytes(self.data, policy=policy.default)
        assert isinstance(found, EmailMessage)
        return found

    @property
    def text(self) -> str:
        body = self.parsed.get_body(("plain",))
        assert body is not None
        return str(body.get_content())

    @property
    def html(self) -> str:
        body = self.parsed.get_body(("html",))
        assert body is not None
        return str(body.get_content())


@dataclass
class MailServer:
    """A server, and the messages and connections that it received."""

    port: int
    messages: list[Taken] = field(default_factory=list)
    connections: int = 0
    users: dict[str, str] = field(default_factory=dict)
    behave: Callable[[int], Mapping[str, Any]] = lambda _: {}


def certificate(folder: Path, name: str = "localhost") -> Path:
    """Write a certificate for a name of this machine, signed by itself, with its key; return the file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names: list[x509.GeneralName] = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = dt.datetime.now(dt.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names[: 2 if name == "localhost" else 1]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(built.public_bytes(serialization.Encoding.PEM) + private)
    return path


class _Session(socketserver.StreamRequestHandler):
    """One connection."""

    server: Any

    def handle(self) -> None:
        with suppress(OSError, ValueError):  # The client may have disconnected.
            self._handle()
        self.connection.close()

    def _handle(self) -> None:
        mail = self.server.mail
        mail.connections += 1
        self.secure, self.user, self.sender, self.to = self.server.tls_first, "", "", []
        self.own = mail.behave(mail.connections)
        self.say("GREETING", "220 mail.example.org ESMTP")
        while line := self.rfile.readline(2000):
            word, _, rest = line.decode().strip().partition(" ")
            self.rest = rest
            if not self.answer(word.upper(), rest):
                return

    def leave(self) -> None:
        """Shut the connection down without sending a reply."""
        self.connection.shutdown(socket.SHUT_RDWR)

    def say(self, word: str, usual: str) -> bool:
        """Send the reply to a command; return whether it was the usual one."""
        own = self.own.get(word, usual)
        if callable(own):
            own(self)
        else:
            self.wfile.write(f"{own}\r\n".encode())
        return own == usual

    def answer(self, word: str, rest: str) -> bool:
        match word:
            case "EHLO" | "HELO":
                offers = ["SIZE 100000"]
                offers += ["STARTTLS"] if self.server.context and not self.secure else []
                offers += ["AUTH PLAIN"] if self.server.mail.users else []
                lines = ["mail.example.org", *offers]
                last = len(lines) - 1
                self.say(word, "\r\n".join(f"250{' ' if at == last else '-'}{each}" for at, each in enumerate(lines)))
            case "STARTTLS":
                if self.say(word, "220 go ahead"):
                    self.connection = self.server.context.wrap_socket(self.connection, server_side=True)
                    self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
                    self.secure = True
            case "AUTH":
                _, user, password = base64.b64decode(rest.partition(" ")[2]).decode().split("\0")
                good = self.server.mail.users.get(user) == password
                self.user = user if good else ""
                self.say(word, "235 welcome" if good else f"535 {password} is wrong")
            case "MAIL":
                self.sender, self.to = rest.partition("<")[2].partition(">")[0], []
                if self.server.mail.users and not self.user:
                    self.say(word, "530 sign in first")
                else:
                    self.say(word, "250 ok")
            case "RCPT":
                if self.say(word, "250 ok"):
                    self.to.append(rest.partition("<")[2].partition(">")[0])
            case "DATA":
                if self.say(word, "354 go on"):
                    self.take()
            case "QUIT":
                self.say(word, "221 bye")
                return False
            case _:
                self.say(word, "250 ok")
        return True

    def take(self) -> None:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        data = b"".join(lines)
        own = self.own.get("DONE", "250 taken")
        if callable(own) or str(own).startswith("2"):
            self.server.mail.messages.append(Taken(self.sender, self.to, data, self.secure, self.user))
        self.say("DONE", "250 taken")


@contextmanager
def mail_server(pem: Path | None = None, *, tls_first: bool = False, port: int = 0) -> Iterator[MailServer]:
    """Run a server on a free port; with the file of a certificate it offers TLS, or begins with it."""

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address, daemon_threads = True, True

        def get_request(self) -> Any:
            connection, address = super().get_request()
            connection.settimeout(30)
            return connection, address

        def finish_request(self, request: Any, client_address: Any) -> None:
            if self.tls_first:  # type: ignore[attr-defined]
                try:
                    request = self.context.wrap_socket(request, server_side=True)  # type: ignore[attr-defined]
                except OSError:
                    return
            super().finish_request(request, client_address)

        def handle_error(self, *_: Any) -> None:
            pass

    server: Any = Server(("127.0.0.1", port), _Session)
    server.context, server.tls_first = None, tls_first
    if pem is not None:
        server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.context.load_cert_chain(pem)
    mail = server.mail = MailServer(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield mail
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
