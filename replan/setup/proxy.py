"""The settings of an authenticating proxy, without which the web page is served to no other machine."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from actors.files.validation_errors import Config, config_error

EVERYBODY = "*"
"""Stands for every user that the proxy lets through."""

_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[0-9]{1,5})?")
_LOOPBACK = ("127.0.0.1", "localhost")
_TAKEN = frozenset(
    ("authorization", "connection", "content-length", "content-type", "cookie", "host", "origin", "referer")
)


class ProxyEntry(Config):
    """A proxy that authenticates users, and is the only way to the server."""

    public: Annotated[str, Field(max_length=300)]
    """The address under which browsers reach it, such as `https://replan.example.org`, without a path."""
    user_header: Annotated[str, Field(max_length=64)]
    """The header in which it names the user. It must remove this header from what clients send."""
    trusted: Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]
    """The addresses or networks that it connects from; connections from others are closed unread."""
    users: Annotated[Mapping[str, Literal["read", "answer", "control"]], Field(min_length=1)]
    """What each user may do, by the name in the header; `*` stands for all others that the proxy lets through."""

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        parts = urlsplit(self.public)
        if parts.scheme not in ("https", "http") or not _HOST.fullmatch(parts.netloc) or parts.path not in ("", "/"):
            raise config_error(f"{self.public[:100]!r} is no public address", ("public",), "such as https://HOST")
        if parts.query or parts.fragment:
            raise config_error("an address with a query", ("public",), "such as https://HOST")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise config_error("http would send pages in the clear", ("public",), "such as https://HOST")
        if not _HEADER.fullmatch(self.user_header) or self.user_header.lower() in _TAKEN:
            raise config_error(
                f"{self.user_header[:60]!r} cannot name the user", ("user_header",), "such as X-Remote-User"
            )
        for text in self.trusted:
            try:
                network = ipaddress.ip_network(text)
            except ValueError:
                raise config_error(f"{text[:60]!r} is no address", ("trusted",), "such as 10.0.0.5") from None
            if network.prefixlen == 0:
                raise config_error(f"{text} is every address", ("trusted",), "name the proxy's own addresses")
        return self

    @property
    def origin(self) -> str:
        """The origin of its pages, as browsers send it."""
        parts = urlsplit(self.public)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def host(self) -> str:
        """The value of `Host` that requests through it carry: the public name, with the port where that is unusual."""
        return urlsplit(self.public).netloc

    def trusts(self, address: str) -> bool:
        """Tell whether a connection from an address comes from the proxy."""
        try:
            peer = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if isinstance(peer, ipaddress.IPv6Address) and peer.ipv4_mapped is not None:
            peer = peer.ipv4_mapped
        return any(peer in ipaddress.ip_network(text) for text in self.trusted)
