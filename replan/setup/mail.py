"""The settings of the server through which people are sent e-mail, and the address of a person."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from actors.files.validation_errors import Config, config_error
from replan.setup.webhook import check_url
from runtime.core.errors import UsageProblem
from runtime.models.base_url import is_local, is_name

ADDRESS_MAX = 254
"""The longest address of e-mail, as RFC 5321 says (errata 1690)."""
PASSWORD_MAX = 4096
"""The most bytes of a password's file."""
PORTS = {"starttls": 587, "tls": 465, "none": 25}
"""The usual port of each way to a server of e-mail."""

_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@([A-Za-z0-9-]{1,63}\.)*[A-Za-z0-9-]{1,63}")
_HINT = "such as ana@example.org, in ASCII"


def check_address(text: str, key: str) -> None:
    """Raise a config error for a text that is no address of e-mail; such a text could end a header or a command."""
    if len(text) > ADDRESS_MAX or not _ADDRESS.fullmatch(text):
        raise config_error(f"{text[:40]!r} is no e-mail address", (key,), _HINT)


class MailEntry(Config):
    """The server of e-mail that sends questions to people, with links that answer them."""

    host: Annotated[str, Field(min_length=1, max_length=253)]
    """The name of the server, for which its certificate must be."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Its port; without it 587, with `security: tls` 465, and with `none` 25."""
    security: Literal["starttls", "tls", "none"] = "starttls"
    """`starttls` or `tls`, with a checked certificate; `none` only to this machine, or a private address in digits."""
    sender: str
    """The address that the messages come from."""
    page: Annotated[str, Field(max_length=2000)]
    """The address of `replan serve`, as people reach it; the links lead there."""
    user: Annotated[str, Field(max_length=320)] = ""
    """Who signs in to the server; nobody where it is empty."""
    password_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    """The environment variable with the password."""
    password_file: Annotated[str, Field(min_length=1)] | None = None
    """The file with the password, by its absolute path, in place of a variable."""

    @property
    def address(self) -> tuple[str, int]:
        """The server and its port."""
        return self.host, self.port or PORTS[self.security]

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        if not is_name(self.host):
            raise config_error("no name of a server", ("host",), "such as smtp.example.org")
        if self.security == "none" and not is_local(self.host):
            hint = "use starttls or tls, localhost, or a private address in digits"
            raise config_error("without TLS this would send e-mail in the clear", ("security",), hint)
        check_address(self.sender, "sender")
        check_url(self.page, "page", query=False)
        given = [key for key in ("password_env", "password_file") if getattr(self, key) is not None]
        if not self.user.isascii():
            raise config_error("the name of the user has characters outside ASCII", ("user",), "use its ASCII name")
        if self.user and len(given) != 1:
            raise config_error("a user signs in with one password", ("user",), "set password_env or password_file")
        if given and not self.user:
            raise config_error("a password without a user", (given[0],), "set user as well")
        if self.password_file is not None and not Path(self.password_file).is_absolute():
            raise config_error("the path is relative", ("password_file",), "give the whole path")
        if self.user and self.security == "none":
            raise config_error("without TLS the password would be sent in the clear", ("user",), "use starttls or tls")
        return self

    def password(self, environment: Mapping[str, str]) -> str:
        """Return the password, read anew each time; empty where nobody signs in.

        Raises `UsageProblem`, which does not show it, where it cannot be read, or has characters outside ASCII, which
        `smtplib` cannot send.
        """
        if self.password_env is not None:
            place, source = "mail.password_env in config.yaml", f"the environment variable {self.password_env}"
            if not (value := environment.get(self.password_env, "")):
                raise UsageProblem(f"{source} is not set", place=place, hint="set it to the password")
        elif self.password_file is not None:
            place, source = "mail.password_file in config.yaml", self.password_file
            value = _read(Path(self.password_file), place)
        else:
            return ""
        if not value.isascii():
            hint = "have the server accept a password of ASCII characters, and use that"
            raise UsageProblem(f"the password in {source} has characters outside ASCII", place=place, hint=hint)
        return value


def _read(path: Path, place: str) -> str:
    """Return the first line of a password's file; `place` is its setting. Raises `UsageProblem`."""
    try:
        with path.open("rb") as file:
            data = file.read(PASSWORD_MAX + 1)
        text = data.decode().partition("\n")[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as error:
        cause = f"{path} cannot be read ({type(error).__name__})"
        raise UsageProblem(cause, place=place, hint="name a file with the password, readable by this user") from None
    if not text or len(data) > PASSWORD_MAX:
        cause = f"{path} has no password, or more than {PASSWORD_MAX} bytes"
        raise UsageProblem(cause, place=place, hint="write the password into its first line")
    return text
