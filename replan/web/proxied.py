"""Who a request is from that comes through an authenticating proxy: the user that the proxy names in its header."""

import hashlib
import hmac
import re
import secrets

from starlette.datastructures import Headers

from replan.service.access import Principal
from replan.service.store import WebState
from replan.setup.proxy import EVERYBODY, ProxyEntry

_USER = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,98}[\x21-\x7e])?")


def user_of(proxy: ProxyEntry, headers: Headers, key: str) -> Principal | None:
    """Return the user of a request through the proxy; None where it names none, several, or one who may do nothing.

    `key` signs the token that the user's forms carry, in place of a session's.
    """
    named = headers.getlist(proxy.user_header)
    if len(named) != 1 or not _USER.fullmatch(named[0]) or not key:
        return None
    name = named[0]
    scope = proxy.users.get(name) or proxy.users.get(EVERYBODY)
    if scope is None or name == EVERYBODY:
        return None
    session = hmac.new(key.encode(), f"user {name}".encode(), hashlib.sha256).hexdigest()
    return Principal(f"user:{name}", scope, session)


def with_key(state: WebState) -> tuple[WebState, str]:
    """Return the state with the key that forms are signed with, and the key: the same one after a restart."""
    key = state.form_key or secrets.token_urlsafe(32)
    return state.model_copy(update={"form_key": key}), key
