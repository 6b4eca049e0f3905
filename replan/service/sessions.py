"""The sessions of browsers at one server. They live in its memory, so they end with it.

Whoever takes the port over afterwards may be sent the id of a session by a page that is still open; it opens nothing.
"""

import secrets

from replan.service.access import Principal, digest

SESSION_SECONDS = 12 * 3600.0
"""How long a session lasts."""
SESSIONS_MAX = 100
"""Sessions at a time; the one that ends first is dropped for a new one."""


class Sessions:
    """The sessions, by the hashes of their ids, with the times at which they end in UTC seconds since 1970."""

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._ends)

    def begin(self, now: float) -> str:
        """Begin a session, and return its id."""
        living = sorted((until, name) for name, until in self._ends.items() if until > now)
        session = secrets.token_urlsafe(32)
        self._ends = {name: until for until, name in living[-(SESSIONS_MAX - 1) :]}
        self._ends[digest(session)] = now + SESSION_SECONDS
        return session

    def end(self, session: str) -> None:
        """End a session; all of them for an empty id."""
        if session:
            self._ends.pop(digest(session), None)
        else:
            self._ends.clear()

    def whose(self, session: str, now: float) -> Principal | None:
        """Return whose session an id is; None where there is none."""
        if self._ends.get(digest(session), 0.0) <= now:
            return None
        return Principal("browser", "control", session)
