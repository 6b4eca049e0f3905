"""The address of a Postgres journal: its URL, read once, and the part of it that may be shown.

A URL may hold a password, and a mistyped one may hold it in the wrong place. So no message quotes a URL: messages show
the servers and the database, once both have the form of such names.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from psycopg import Error
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from runtime.core.errors import UsageProblem

SCHEMES = ("postgresql", "postgres")
FORM = "postgresql://USER:PASSWORD@SERVER:5432/DATABASE"
ESCAPE = "write special characters in the user's name and the password as %40, %2F, …"

SECRET_MIN = 4
"""Shorter passwords are not searched for in messages, since they occur in ordinary words."""

_SERVERS = re.compile(r"[\w.:,%/\\-]*")
_PORTS = re.compile(r"[\d,]*")
_DATABASE = re.compile(r"[\w.%+ -]*")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a journal is, and how it is reached."""

    conninfo: str = field(repr=False)
    """What libpq connects with; it may hold a password."""
    place: str
    """The servers and the database, for messages."""
    secrets: tuple[str, ...] = field(repr=False, default=())
    """What no message may hold."""

    def shown(self, message: str) -> str:
        """Return the first line of a message of the database, without secrets."""
        line = next(iter(message.strip().splitlines()), "")
        for secret in self.secrets:
            line = line.replace(secret, "********")
        return line


def parse_address(url: str, place: str = "") -> Address:
    """Return the address that a URL tells. Raises `UsageProblem`, which names `place` and shows nothing of the URL."""
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    except Error:
        raise UsageProblem("this is not the URL of a Postgres database", place=place, hint=FORM) from None
    servers, ports = parts.get("host", ""), parts.get("port", "")
    database = parts.get("dbname", "")
    for name, value, form in (
        ("server", servers, _SERVERS),
        ("port", ports, _PORTS),
        ("database", database, _DATABASE),
    ):
        if form.fullmatch(value) is None:
            raise UsageProblem(f"the URL names no {name} that can be used", place=place, hint=ESCAPE)
    passwords = [parts[name] for name in ("password", "sslpassword") if parts.get(name)]
    secrets = {form for word in passwords for form in (word, unquote(word)) if len(form) >= SECRET_MIN}
    port = f":{ports}" if ports else ""
    return Address(make_conninfo(**parts), f"postgresql://{servers}{port}/{database}", tuple(sorted(secrets)))
