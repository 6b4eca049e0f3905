"""The file `$REPLAN_HOME/web.json`: who may use the server, and which runs each client has started.

It holds hashes of secrets, and never a secret that lets somebody in. Every process of the user may change it under a
lock, so that `replan token` and `replan serve --sign-in` work while a server runs.
"""

import fcntl
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runtime.core.errors import UsageProblem

T = TypeVar("T")

BYTES_MAX = 4 * 1024 * 1024
"""The largest file that is read."""
NAME, LOCK = "web.json", "web.lock"

Scope = Literal["read", "answer", "control"]
"""What a token allows; each scope includes the ones before it."""


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Token(_Stored):
    """A token of the HTTP API."""

    digest: str
    """The SHA-256 hash of the token, in hex."""
    scope: Scope
    """What it allows."""
    created: float
    """When it was made, in UTC seconds since 1970."""


class Start(_Stored):
    """A run that a client has started."""

    run: str
    """The run's id."""
    at: float
    """When it was started, in UTC seconds since 1970."""
    order: str = ""
    """The hash of what was ordered, where the client gave an idempotency key."""


class WebState(_Stored):
    """The content of the store's file: who may use the server, and what clients have started."""

    version: Literal[1] = 1
    """The version of the file's format."""
    sign_ins: Mapping[str, float] = Field(default_factory=dict)
    """The hashes of one-time tokens that nobody has used, each with its server, and the times at which they end."""
    tokens: Mapping[str, Token] = Field(default_factory=dict)
    """The tokens of the HTTP API by name."""
    starts: Mapping[str, tuple[Start, ...]] = Field(default_factory=dict)
    """The runs that clients have started lately, by client."""
    form_key: str = ""
    """The key that signs the forms of users behind a proxy; it lets nobody in. Empty until a server is behind one."""
    servers: Mapping[str, str] = Field(default_factory=dict)
    """The addresses of the servers, by the name of their process. Their names are secret: this file is private."""


class Store:
    """Reads and changes the file in a home, whose folder exists."""

    def __init__(self, folder: Path) -> None:
        self._path, self._lock = folder / NAME, folder / LOCK
        self._known: tuple[tuple[int, int, int], WebState] | None = None

    def read(self) -> WebState:
        """Return the content; an empty one where there is no file. Raises `UsageProblem` for a damaged file."""
        try:
            facts = self._path.stat()
        except FileNotFoundError:
            return WebState()
        mark = facts.st_mtime_ns, facts.st_size, facts.st_ino
        if self._known is None or self._known[0] != mark:
            self._known = mark, self._parsed()
        return self._known[1]

    def change(self, work: Callable[[WebState], tuple[WebState, T]]) -> T:
        """Write the content that `work` returns, durably, and return its second value. Raises as `read`, and `OSError`.

        Nobody else changes the file meanwhile.
        """
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = self.read()
            after, value = work(before)
            if after != before:
                self._write(after)
        finally:
            os.close(lock)
        return value

    def _parsed(self) -> WebState:
        hint = "remove it: everybody is signed out, and tokens are made again with `replan token add`"
        with self._path.open("rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                raise UsageProblem("this file belongs to another user", place=str(self._path), hint=hint)
            data = file.read(BYTES_MAX + 1)
        if len(data) > BYTES_MAX:
            raise UsageProblem(f"more than {BYTES_MAX:,} bytes", place=str(self._path), hint=hint)
        try:
            return WebState.model_validate_json(data)
        except ValidationError as error:
            cause = f"not a file of this release: {error.errors()[0]['msg']}"
            raise UsageProblem(cause, place=str(self._path), hint=hint) from None

    def _write(self, state: WebState) -> None:
        number, name = tempfile.mkstemp(prefix=".web-", dir=self._path.parent)  # Private, whatever the umask.
        try:
            with os.fdopen(number, "wb") as file:
                file.write(state.model_dump_json().encode())
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
