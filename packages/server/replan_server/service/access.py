"""Access to the server: one-time tokens, tokens of programs, and the sessions of browsers.

Each secret has 256 random bits, and only its hash is stored. Because a client cannot choose a hash, hashes need not be
compared in constant time.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from replan.setup.installation import program
from replan_server.service.store import Scope, Token, WebState
from runtime.core.errors import UsageProblem

SIGN_IN_SECONDS = 60.0
"""How long a one-time token for signing in is valid, in seconds."""
TOKENS_MAX = 100
"""The largest number of tokens for programs that can exist at a time."""
SCOPES: tuple[Scope, ...] = get_args(Scope)

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}")


@dataclass(frozen=True, slots=True)
class Principal:
    """The client that has sent a request."""

    client: str
    """The name under which the client's runs are counted: `browser`, `user:NAME` behind a proxy, `token:NAME`, `mcp`
    over stdio.
    """
    scope: Scope
    session: str = ""
    """The secret id of the browser's session, or the id that replaces it behind a proxy; empty for a program."""
    token: str = ""
    """The hash of the program's token; empty for a browser."""

    def may(self, scope: Scope) -> bool:
        """Return whether the client has this scope, or a scope that includes it."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    @property
    def csrf(self) -> str:
        """The CSRF token in each form of the session. The token is computed from the secret id of the session."""
        return digest(f"csrf {self.session}")


def digest(secret: str) -> str:
    """Return the hash under which a secret is stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def equal_in_constant_time(one: str, other: str) -> bool:
    """Compare two texts in a time that does not depend on where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def with_sign_in(state: WebState, server: str, now: float) -> tuple[WebState, str]:
    """Return the state with a new one-time token, and the token. Only the server named `server` accepts the token."""
    token = secrets.token_urlsafe(32)
    kept = _not_expired(state.sign_ins, now)
    return state.model_copy(update={"sign_ins": {**kept, _at(server, token): now + SIGN_IN_SECONDS}}), token


def use_token(state: WebState, server: str, token: str, now: float) -> tuple[WebState, bool]:
    """Return the state without a used one-time token, and whether the token was valid."""
    living, key = _not_expired(state.sign_ins, now), _at(server, token)
    if key not in living:
        return state, False
    left = {name: until for name, until in living.items() if name != key}
    return state.model_copy(update={"sign_ins": left}), True


def _at(server: str, token: str) -> str:
    return digest(f"sign-in {server} {token}")


def of_token(state: WebState, token: str) -> Principal | None:
    """Return the owner of a token; None for an unknown token."""
    key, principal = digest(token), None
    for name, stored_token in state.tokens.items():
        if equal_in_constant_time(stored_token.digest, key):
            principal = Principal(f"token:{name}", stored_token.scope, token=key)
    return principal


def with_token(state: WebState, name: str, scope: Scope, now: float) -> tuple[WebState, str]:
    """Return the state with a new token for a program, and the token.

    Raises `UsageProblem` if the name is invalid or taken, or if there are too many tokens.
    """
    if not _NAME.fullmatch(name):
        hint = "use up to 32 small letters, digits, dots, dashes and underscores"
        raise UsageProblem(f"{name[:60]!r} is not a valid name for a token", place="NAME", hint=hint)
    if name in state.tokens:
        hint = f"use another name, or first run `{program()} token revoke {name}`"
        raise UsageProblem(f"the token {name!r} exists already", place="NAME", hint=hint)
    if len(state.tokens) >= TOKENS_MAX:
        raise UsageProblem(f"there are {TOKENS_MAX} tokens already", place="NAME", hint="revoke an unused token")
    token = f"rp_{secrets.token_urlsafe(32)}"
    entry = Token(digest=digest(token), scope=scope, created=now)
    return state.model_copy(update={"tokens": {**state.tokens, name: entry}}), token


def remove_token(state: WebState, name: str) -> tuple[WebState, None]:
    """Return the state without the token of this name. Raises `UsageProblem` if there is no such token."""
    if name not in state.tokens:
        raise UsageProblem(
            f"there is no token {name[:60]!r}", place="NAME", hint=f"`{program()} token list` lists the tokens"
        )
    kept = {other: token for other, token in state.tokens.items() if other != name}
    return state.model_copy(update={"tokens": kept}), None


def _not_expired(ends: Mapping[str, float], now: float) -> dict[str, float]:
    return {name: until for name, until in ends.items() if until > now}


SESSION_SECONDS = 12 * 3600.0
"""How long a session is valid after the sign-in, in seconds."""
SESSIONS_MAX = 100
"""The largest number of sessions at a time. If there are so many, a new session replaces the session with the earliest
end."""


class Sessions:
    """The sessions of browsers: when each session ends, in UTC seconds since 1970, by the hash of its id."""

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
        """End a session. An empty id ends all sessions."""
        if session:
            self._ends.pop(digest(session), None)
        else:
            self._ends.clear()

    def whose(self, session: str, now: float) -> Principal | None:
        """Return the owner of a session; None for an unknown or expired id."""
        if self._ends.get(digest(session), 0.0) <= now:
            return None
        return Principal("browser", "control", session)
