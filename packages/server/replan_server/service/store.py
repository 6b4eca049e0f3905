"""The stored data of a home's servers: tokens (`web.json`), and the runs that clients have started (`starts.sqlite3`).

`web.json` has hashes of tokens, never the tokens. Processes change the file under a lock, so `replan token` and `replan
serve --sign-in` work while a server runs. The lists in the file are bounded. Data without a fixed bound are in the
database instead.
"""

import fcntl
import os
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import apsw
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from replan.setup.installation import program
from runtime.core.errors import UsageProblem
from runtime.journal.folder import replace_file

T = TypeVar("T")

BYTES_MAX = 4 * 1024 * 1024
"""The largest number of bytes in `web.json`."""
NAME, LOCK, STARTS = "web.json", "web.lock", "starts.sqlite3"
STARTS_MAX = 1000
"""The largest number of starts of runs that are kept for one client. The oldest starts are dropped first."""
CLIENTS_MAX = 1000
"""The largest number of clients whose starts of runs are kept. The clients that started a run most recently are
kept."""
DAY = 86_400.0
KEPT_SECONDS = 30 * DAY
"""How long the start of a run is kept, in seconds."""

Scope = Literal["read", "answer", "control"]
"""The rights of a token. Each scope includes the scopes before it."""


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Token(_Stored):
    """A token of the HTTP API."""

    digest: str
    """The SHA-256 hash of the token, in hex."""
    scope: Scope
    created: float
    """When the token was made, in UTC seconds since 1970."""


class WebState(_Stored):
    """The content of `web.json`."""

    version: Literal[1] = 1
    sign_ins: Mapping[str, float] = Field(default_factory=dict)
    """When each unused one-time token expires (UTC seconds since 1970), by a hash of the token and its server's name.
    """
    tokens: Mapping[str, Token] = Field(default_factory=dict)
    form_key: str = ""
    """The key that signs the forms of users behind a proxy. Nobody can sign in with this key. It is empty until a
    server behind a proxy needs it.
    """
    servers: Mapping[str, str] = Field(default_factory=dict)
    """The addresses of the servers, by the name of their process. The host names in these addresses are secret."""


class Store:
    """Reads and changes `web.json` in a folder that exists."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path, self._lock = folder / NAME, folder / LOCK
        self._known: tuple[tuple[int, int, int], WebState] | None = None

    def read(self) -> WebState:
        """Return the content of the file; empty if there is no file. Raises `UsageProblem` for a damaged file."""
        try:
            facts = self._path.stat()
        except FileNotFoundError:
            return WebState()
        mark = facts.st_mtime_ns, facts.st_size, facts.st_ino
        if self._known is None or self._known[0] != mark:
            self._known = mark, self._parse()
        return self._known[1]

    def change(self, work: Callable[[WebState], tuple[WebState, T]]) -> T:
        """Call `work` with the content of the file.

        `work` returns the new content, which is written durably, and a value, which is returned. No other process
        changes the file in the meantime. Raises the errors of `read`, and `OSError`.
        """
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = self.read()
            after, value = work(before)
            if after != before:
                self._write(after.model_dump_json().encode())
        finally:
            os.close(lock)
        return value

    def _parse(self) -> WebState:
        hint = "delete the file; then sign in again, and make new tokens with `replan token add`"
        with self._path.open("rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                raise UsageProblem("this file belongs to another user", place=str(self._path), hint=hint)
            data = file.read(BYTES_MAX + 1)
        if len(data) > BYTES_MAX:
            raise UsageProblem(f"the file has more than {BYTES_MAX:,} bytes", place=str(self._path), hint=hint)
        try:
            return WebState.model_validate_json(data)
        except ValidationError as error:
            cause = f"this release cannot read the file: {error.errors()[0]['msg']}"
            raise UsageProblem(cause, place=str(self._path), hint=hint) from None

    def _write(self, data: bytes) -> None:
        if len(data) > BYTES_MAX:
            hint = f"revoke a token: `{program()} token revoke NAME`"
            raise UsageProblem(f"the file would have more than {BYTES_MAX:,} bytes", place=str(self._path), hint=hint)
        replace_file(self._path, data)


@dataclass(frozen=True, slots=True)
class Start:
    """A run that a client has started."""

    run: str
    at: float
    """When the run was started, in UTC seconds since 1970."""
    order: str = ""
    """The hash of the order; empty if the client sent no idempotency key."""


_OLD_STARTS = """DELETE FROM starts WHERE client = ?1 AND rowid NOT IN
    (SELECT rowid FROM starts WHERE client = ?1 ORDER BY rowid DESC LIMIT ?2)"""
_OLD_CLIENTS = """DELETE FROM starts WHERE client NOT IN
    (SELECT client FROM starts GROUP BY client ORDER BY max(rowid) DESC LIMIT ?)"""


class Starts:
    """The runs that each client has started, in a database of the home. The methods block, so call them in a thread."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / STARTS

    def of_client(self, client: str) -> tuple[Start, ...]:
        """Return the starts of a client, oldest first. Raises `UsageProblem` for a damaged file."""
        rows = self._execute([('SELECT run, at, "order" FROM starts WHERE client = ? ORDER BY rowid', (client,))])
        return tuple([Start(*row) for row in rows])

    def add(self, client: str, start: Start) -> None:
        """Store a start durably, and delete old starts that exceed the limits of the database.

        Raises `UsageProblem` for a damaged file.
        """
        self._execute(
            [
                ("INSERT INTO starts VALUES (?, ?, ?, ?)", (client, start.run, start.at, start.order)),
                ("DELETE FROM starts WHERE at < ?", (start.at - KEPT_SECONDS,)),
                (_OLD_STARTS, (client, STARTS_MAX)),
                (_OLD_CLIENTS, (CLIENTS_MAX,)),
            ]
        )

    def _execute(self, statements: list[tuple[str, tuple[object, ...]]]) -> list[tuple[Any, ...]]:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        rows: list[tuple[Any, ...]] = []
        try:
            with closing(apsw.Connection(str(self._path))) as database:
                database.set_busy_timeout(10_000)
                with database:
                    database.execute(
                        'CREATE TABLE IF NOT EXISTS starts (client TEXT, run TEXT, at REAL, "order" TEXT);'
                        "CREATE INDEX IF NOT EXISTS starts_of_client ON starts (client)"
                    )
                    for statement, values in statements:
                        rows = database.execute(statement, values).fetchall()
        except apsw.Error as error:
            hint = "delete this file; then the counts of started runs and the idempotency keys of clients are lost"
            cause = f"the database cannot be used: {error}"[:200]
            raise UsageProblem(cause, place=str(self._path), hint=hint) from None
        return rows
