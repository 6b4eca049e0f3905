"""The settings of the servers: the keys that this distribution adds to config.yaml."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from actors.files.validation_errors import Config, config_error
from actors.run.reminder_events import ReminderRule
from replan.setup.settings import UserConfig
from replan_server.notifications import Answering, AnswerLinks, PersonEntry, ReminderEntry, SenderEntry, WebhookEntry

EVERYBODY = "*"
"""The entry of `users` that stands for every user whose requests the proxy passes on."""

_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[0-9]{1,5})?")
_LOOPBACK = ("127.0.0.1", "localhost")
_TAKEN = frozenset(
    ("authorization", "connection", "content-length", "content-type", "cookie", "host", "origin", "referer")
)


class ProxyEntry(Config):
    """A proxy that authenticates users. All requests come through this proxy."""

    public: Annotated[str, Field(max_length=300)]
    """The address under which browsers reach the proxy, such as `https://replan.example.org`, without a path."""
    user_header: Annotated[str, Field(max_length=64)]
    """The header in which the proxy names the user. The proxy must remove this header from clients' requests."""
    trusted: Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]
    """The addresses or networks from which the proxy connects. Other connections are closed before anything is read."""
    users: Annotated[Mapping[str, Literal["read", "answer", "control"]], Field(min_length=1)]
    """The rights of each user, by the name in the header. `*` stands for all other users that the proxy lets through.
    """

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        parts = urlsplit(self.public)
        if parts.scheme not in ("https", "http") or not _HOST.fullmatch(parts.netloc) or parts.path not in ("", "/"):
            raise config_error(
                f"{self.public[:100]!r} must be an http or https URL without a path",
                ("public",),
                "such as https://HOST",
            )
        if parts.query or parts.fragment:
            raise config_error("the address has a query or a fragment", ("public",), "such as https://HOST")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise config_error("plain http would send the pages unencrypted", ("public",), "such as https://HOST")
        if not _HEADER.fullmatch(self.user_header) or self.user_header.lower() in _TAKEN:
            raise config_error(
                f"{self.user_header[:60]!r} cannot be the header that names the user",
                ("user_header",),
                "such as X-Remote-User",
            )
        for text in self.trusted:
            try:
                network = ipaddress.ip_network(text)
            except ValueError:
                raise config_error(
                    f"{text[:60]!r} is not an IP address or a network", ("trusted",), "such as 10.0.0.5"
                ) from None
            if network.prefixlen == 0:
                raise config_error(
                    f"the network {text} contains every address", ("trusted",), "name the proxy's own addresses"
                )
        return self

    @property
    def origin(self) -> str:
        """The origin of the pages, as browsers send it in the header `Origin`."""
        parts = urlsplit(self.public)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def host(self) -> str:
        """The header `Host` in requests through the proxy: the host of `public`, with its port if `public` has one."""
        return urlsplit(self.public).netloc

    def trusts(self, address: str) -> bool:
        """Return whether an address is in `trusted`, so that the proxy may connect from it."""
        try:
            peer = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if isinstance(peer, ipaddress.IPv6Address) and peer.ipv4_mapped is not None:
            peer = peer.ipv4_mapped
        return any(peer in ipaddress.ip_network(text) for text in self.trusted)


WebhookName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]
PersonName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]


class ServerSettings(UserConfig):
    """The config file, with the keys of `replan-server`."""

    secret_keys: ClassVar[tuple[str, ...]] = ("answer_links", "senders", "webhooks")

    proxies: Mapping[str, ProxyEntry] = Field(default_factory=dict)
    """The authenticating proxies by name. `replan serve --proxy NAME` serves other machines through a proxy."""
    webhooks: Mapping[WebhookName, WebhookEntry] = Field(default_factory=dict)
    """The addresses to which a host posts signed messages, by name."""
    senders: Mapping[WebhookName, SenderEntry] = Field(default_factory=dict)
    """Senders of installed distributions, by the names of their entry points. A host sends messages about runs through
    these senders.
    """
    people: Mapping[PersonName, PersonEntry] = Field(default_factory=dict)
    """Who may answer questions through links in messages, by name."""
    answer_links: AnswerLinks | None = None
    """The keys that sign answer links, and how long a link is valid."""
    reminders: Annotated[tuple[ReminderEntry, ...], Field(max_length=20)] = ()
    """Rules for reminders about unanswered questions of new runs. The first rule that fits a question applies."""

    @model_validator(mode="after")
    def _webhooks_of_people(self) -> Self:
        if self.people and self.answer_links is None:
            raise config_error("the answer links need secrets that sign them", ("people",), "set `answer_links`")
        for name, person in self.people.items():
            for webhook in person.webhooks:
                if webhook not in self.webhooks:
                    hint = "use a name under `webhooks`"
                    raise config_error(f"there is no webhook {webhook!r}", ("people", name, "webhooks"), hint)
                if self.webhooks[webhook].page is None:
                    hint = "set it to the address at which people reach `replan serve`"
                    raise config_error(
                        "this webhook sends links to people, so it needs a page", ("webhooks", webhook, "page"), hint
                    )
        return self

    @model_validator(mode="after")
    def _people_of_reminders(self) -> Self:
        covered: set[str] = set()
        for place, reminder in enumerate(self.reminders):
            questions = {"approvals", "ordinary"} if reminder.questions == "all" else {reminder.questions}
            if questions <= covered:
                cause = "earlier rules already apply to all questions of this rule"
                hint = "move this rule before the earlier rules, or remove it"
                raise config_error(cause, ("reminders", place, "questions"), hint)
            covered |= questions
            reminder.check_people(self.people, place)
        return self

    @property
    def reminder_rules(self) -> tuple[ReminderRule, ...]:
        """The reminder rules of new runs."""
        return tuple([entry.rule for entry in self.reminders])

    @property
    def answering(self) -> Answering | None:
        """The people who get links that answer questions, and the signing keys; None if nobody gets links."""
        return None if self.answer_links is None else Answering(self.people, self.answer_links)
