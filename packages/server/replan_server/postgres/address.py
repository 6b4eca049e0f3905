"""The address of a Postgres journal: the settings in its URL, and the part of the URL that may be shown.

A URL may contain a password, and in a mistyped URL the password may be in the wrong place. So no message quotes a URL.
Messages show the names of the servers and of the database only if both have the form of a name.

By default, a server on another machine must prove its name by a certificate (`sslmode=verify-full`). No server gets the
password in clear text or as an MD5 hash (`require_auth`). The URL and the variables of libpq can change both defaults.
"""

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from psycopg import Error
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from runtime.core.errors import UsageProblem

FORM = "postgresql://USER:PASSWORD@SERVER:5432/DATABASE"
ESCAPE = "write special characters in the user's name and the password as %40, %2F, …"

SECRET_MIN = 4
"""The smallest number of characters of a password that is removed from messages. Shorter passwords are not removed,
because they occur in ordinary words."""

NO_WEAK_PASSWORDS = "!password,!md5"
"""The ways of signing in to Postgres that are refused, each with a `!`. With them, a false server would learn the
password or its hash."""

_SERVERS = re.compile(r"[\w.:,%/\\-]*")
_PORTS = re.compile(r"[\d,]*")
_DATABASE = re.compile(r"[\w.%+ -]*")


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """The address of a journal, and how to connect to it."""

    conninfo: str = field(repr=False)
    """The connection string of libpq; it may contain a password."""
    place: str
    secrets: tuple[str, ...] = field(repr=False, default=())
    """The secrets that no message may contain."""

    def message_line(self, message: str) -> str:
        """Return the first line of a message of the database, without secrets."""
        line = next(iter(message.strip().splitlines()), "")
        for secret in self.secrets:
            line = line.replace(secret, "********")
        return line


def parse_address(url: str, place: str = "") -> DatabaseAddress:
    """Return the address of a journal from its URL.

    Raises `UsageProblem` for an invalid URL. The error has the place `place`, and shows no part of the URL.
    """
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
            raise UsageProblem(f"the {name} in the URL is not valid", place=place, hint=ESCAPE)
    passwords = [parts[name] for name in ("password", "sslpassword") if parts.get(name)]
    secrets = {form for word in passwords for form in (word, unquote(word)) if len(form) >= SECRET_MIN}
    port = f":{ports}" if ports else ""
    parts |= _protection(parts, os.environ)
    return DatabaseAddress(make_conninfo(**parts), f"postgresql://{servers}{port}/{database}", tuple(sorted(secrets)))


def _protection(parts: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the default settings that protect a connection.

    A setting that the URL or the environment has is left unchanged.
    """
    added = {}
    if "require_auth" not in parts and "PGREQUIREAUTH" not in environment:
        added["require_auth"] = NO_WEAK_PASSWORDS
    hosts = parts.get("hostaddr") or parts.get("host") or environment.get("PGHOST", "")
    if all(map(_is_local, hosts.split(","))) or "sslmode" in parts or "PGSSLMODE" in environment:
        return added
    added["sslmode"] = "verify-full"
    roots = "sslrootcert" in parts or "PGSSLROOTCERT" in environment
    if not roots and not (Path.home() / ".postgresql" / "root.crt").exists():
        added["sslrootcert"] = "system"
    return added


def _is_local(host: str) -> bool:
    """Return whether a host is this machine: a socket's folder, `localhost` or a loopback address."""
    if host in {"", "localhost"} or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
