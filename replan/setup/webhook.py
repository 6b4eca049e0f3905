"""The settings of a webhook: where messages are posted, and the secrets that sign them."""

import base64
import binascii
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from actors.files.validation_errors import Config, config_error
from runtime.models.base_url import is_local, is_name

PREFIX = "whsec_"
"""What a secret begins with, as Standard Webhooks says; the rest is base64."""
SECRET_BYTES = range(24, 65)
"""How many bytes a secret may have, as Standard Webhooks says."""
SECRETS_MAX = 4
"""How many secrets sign a message: one, and another while it is replaced."""

WebhookEvent = Literal["waiting", "parked", "finished"]

_HINT = f"{PREFIX} and the base64 of 24 to 64 random bytes"


class WebhookEntry(Config):
    """An address that signed messages are posted to."""

    url: Annotated[str, Field(max_length=2000)]
    """The address: `https`, or plain `http` to this machine or to a private address in digits."""
    secrets: Annotated[tuple[SecretStr, ...], Field(min_length=1, max_length=SECRETS_MAX)]
    """The secrets, each of which signs every message. To replace one, list the new one first, and both for a while."""
    events: Annotated[tuple[WebhookEvent, ...], Field(min_length=1)] = ("waiting", "parked", "finished")
    """What is told: a run waits for a person, was parked, has finished."""
    page: Annotated[str, Field(max_length=2000)] | None = None
    """The address of `replan serve`, as people reach it; messages have a link to it then."""

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        check_url(self.url, "url", query=True)
        if self.page is not None:
            check_url(self.page, "page", query=False)
        check_secrets(self.secrets)
        return self


def check_secrets(secrets: tuple[SecretStr, ...]) -> None:
    """Raise a config error where one of the secrets is none."""
    for secret in secrets:
        if key_of(secret) is None:
            raise config_error("a secret is not of the form of Standard Webhooks", ("secrets",), _HINT)


def key_of(secret: SecretStr) -> bytes | None:
    """Return the bytes of a secret; None for a text that is none."""
    text = secret.get_secret_value()
    if not text.startswith(PREFIX):
        return None
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) in SECRET_BYTES else None


def check_url(text: str, key: str, *, query: bool) -> None:
    """Raise a config error, which does not show the address: it may hold a token."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise config_error("no address", (key,), "such as https://HOST/PATH") from None
    if parts.scheme not in ("http", "https") or not is_name(host) or not text.isascii() or not text.isprintable():
        raise config_error("not an http or https address", (key,), "such as https://HOST/PATH")
    if "@" in parts.netloc or parts.fragment or " " in text or (parts.query and not query):
        cause = "the address holds a user name, a fragment or white space"
        raise config_error(cause if query else f"{cause}, or a query", (key,), "such as https://HOST/PATH")
    if parts.scheme == "http" and not is_local(host):
        hint = "use https, localhost, or a private address in digits"
        raise config_error("plain http would send this in the clear", (key,), hint)
