"""Types of the settings about notifications: webhooks and their secrets, people who answer through links, reminders."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, SecretStr, model_validator

from actors.files.validation_errors import Config, config_error
from actors.run.reminder_events import ReminderRule, ReminderScope, ReminderStep
from replan.setup.limit_fields import duration_schema, duration_up_to
from runtime.models.providers import is_local, is_name

PREFIX = "whsec_"
"""The first characters of each secret in the format of Standard Webhooks. The rest of the secret is Base64."""
SECRET_BYTES = range(24, 65)
"""The allowed numbers of random bytes in a secret of Standard Webhooks."""
SECRETS_MAX = 4
"""The largest number of secrets that sign a webhook's messages. A webhook usually has one secret, and two while a
secret is being replaced.
"""

WebhookEvent = Literal["waiting", "parked", "finished", "limit_near"]

_HINT = f"{PREFIX} followed by 24 to 64 random bytes in Base64"


class ReceiverEntry(Config):
    """A receiver of messages about runs, and the events of these messages."""

    events: Annotated[tuple[WebhookEvent, ...], Field(min_length=1)] = ("waiting", "parked", "finished")
    """The events that messages are about: a run waits for a person, was parked, has finished, or has used 50 or 80 % of
    a limit.
    """
    page: Annotated[str, Field(max_length=2000)] | None = None
    """The address of `replan serve` for people. If it is set, messages link to it."""

    @model_validator(mode="after")
    def _has_a_page(self) -> Self:
        if self.page is not None:
            _check_url(self.page, "page", query=False)
        return self


class SenderEntry(ReceiverEntry):
    """A message sender from an installed distribution."""

    settings: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Settings that the sender gets with each message, such as an address."""


class WebhookEntry(ReceiverEntry):
    """An address to which signed messages are posted."""

    url: Annotated[str, Field(max_length=2000)]
    """The address: `https`, or plain `http` to this machine or to a private IP address."""
    secrets: Annotated[tuple[SecretStr, ...], Field(min_length=1, max_length=SECRETS_MAX)]
    """Secrets that sign every message. To replace a secret, list the new one before it, and remove the old one later.
    """

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        _check_url(self.url, "url", query=True)
        _check_secrets(self.secrets)
        return self


def _check_secrets(secrets: tuple[SecretStr, ...]) -> None:
    """Raise a config error if a secret does not have the form of Standard Webhooks."""
    for secret in secrets:
        if _key_of(secret) is None:
            raise config_error("a secret does not have the form of Standard Webhooks", ("secrets",), _HINT)


def _key_of(secret: SecretStr) -> bytes | None:
    """Return the bytes of a secret; None if the text does not have the form of a secret."""
    text = secret.get_secret_value()
    if not text.startswith(PREFIX):
        return None
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) in SECRET_BYTES else None


def _check_url(text: str, key: str, *, query: bool) -> None:
    """Raise a config error for a URL that cannot be used.

    The error does not show the URL, because the URL may contain a token.

    `query` says whether the URL may have a query.
    """
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise config_error("this is not a URL", (key,), "such as https://HOST/PATH") from None
    if parts.scheme not in ("http", "https") or not is_name(host) or not text.isascii() or not text.isprintable():
        raise config_error("this is not an http or https URL", (key,), "such as https://HOST/PATH")
    if "@" in parts.netloc or parts.fragment or " " in text or (parts.query and not query):
        cause = "the URL contains a user name, a fragment or white space"
        raise config_error(cause if query else f"{cause}, or a query", (key,), "such as https://HOST/PATH")
    if parts.scheme == "http" and not is_local(host):
        hint = "use https, or http to localhost or to a private IP address"
        raise config_error("plain http to this host would not be encrypted", (key,), hint)


class PersonEntry(Config):
    """A person who is sent links that answer questions."""

    webhooks: Annotated[tuple[str, ...], Field(min_length=1)]
    """The names of the webhooks whose messages have this person's links. Only this person may read these messages."""
    may: Literal["answer", "approve"] = "answer"
    """What the links answer: with `answer`, ordinary questions; with `approve`, also approvals, reviews and outcomes of
    tool calls.
    """

    def may_answer(self, *, people_only: bool) -> bool:
        """Return whether this person may answer a question.

        `people_only` is True for questions that programs must not answer, such as approvals.
        """
        return self.may == "approve" or not people_only


class AnswerLinks(Config):
    """The settings of signed links that answer questions."""

    secrets: Annotated[tuple[SecretStr, ...], Field(min_length=1, max_length=SECRETS_MAX)]
    """Secrets in the form of webhook secrets. The first secret signs links. Links signed with any secret are accepted.
    """
    hours: Annotated[int, Field(ge=1, le=720)] = 72
    """How many hours a link can be used, from the time of the record that its message is about."""

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        _check_secrets(self.secrets)
        return self


@dataclass(frozen=True, slots=True)
class Answering:
    """The people who may answer questions through links, and the secrets that sign the links."""

    people: Mapping[str, PersonEntry]
    """The people by name."""
    links: AnswerLinks
    """The secrets, and how long a link can be used."""

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The bytes of the secrets. The first secret signs links."""
        return tuple([key for secret in self.links.secrets if (key := _key_of(secret)) is not None])


AFTER_MAX = 366 * 86_400
"""The longest time from a question to a reminder, in seconds."""
STEPS_MAX = 20
"""The largest number of steps in one reminder rule."""

After = Annotated[float, Field(gt=0, allow_inf_nan=False), duration_up_to(AFTER_MAX), duration_schema(AFTER_MAX)]


class ReminderStepEntry(Config):
    """A step of a rule: a reminder when a question has been open for some time."""

    after: After
    """The time after the question was asked: a duration such as `4h` or `1d`, or a number of seconds."""
    ask: tuple[str, ...] = ()
    """Further people who are asked at this step; by default, the people asked before are reminded."""


class ReminderEntry(Config):
    """A rule for reminders about unanswered questions."""

    questions: ReminderScope = "all"
    """The rule's questions: `all`, `approvals` (with reviews and outcomes of tool calls), or `ordinary` questions."""
    ask: tuple[str, ...] = ()
    """The people who are asked first; by default, everybody who may answer."""
    steps: Annotated[tuple[ReminderStepEntry, ...], Field(min_length=1, max_length=STEPS_MAX)]
    """The steps, the earliest first."""

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        for place, (step, later) in enumerate(zip(self.steps, self.steps[1:], strict=False), 1):
            if later.after <= step.after:
                hint = "give each step a longer time than the step before it"
                raise config_error("the steps are not in the order of their times", ("steps", place, "after"), hint)
        for where, names in self._name_lists():
            if len(set(names)) < len(names):
                raise config_error("the list has the same name twice", where, "name each person once")
        people = set(self.ask)
        for place, step in enumerate(self.steps):
            if step.ask and not self.ask:
                hint = "name the people who are asked first"
                raise config_error("a step asks further people, but everybody was asked at the start", ("ask",), hint)
            if again := people.intersection(step.ask):
                name = min(again)
                raise config_error(f"{name!r} was asked before this step", ("steps", place, "ask"), "remove it")
            people.update(step.ask)
        return self

    def _name_lists(self) -> list[tuple[tuple[str | int, ...], tuple[str, ...]]]:
        """Return each list of people with its key path in the entry."""
        return [(("ask",), self.ask), *((("steps", place, "ask"), step.ask) for place, step in enumerate(self.steps))]

    def check_people(self, people: Mapping[str, PersonEntry], place: int) -> None:
        """Raise a config error if a name is not in `people`, or if that person may not answer the questions.

        `place` is the position of this entry in the list of reminders.
        """
        for where, names in self._name_lists():
            for name in names:
                if name not in people:
                    hint = "use a name under `people`"
                    raise config_error(f"there is no person {name!r}", ("reminders", place, *where), hint)
                if not people[name].may_answer(people_only=self.questions != "ordinary"):
                    cause = f"{name!r} has no right to answer approvals"
                    hint = "set `may: approve` for the person, or `questions: ordinary` for the rule"
                    raise config_error(cause, ("reminders", place, *where), hint)

    @property
    def rule(self) -> ReminderRule:
        """The rule in the form that a run stores."""
        steps = tuple([ReminderStep(after_seconds=step.after, ask=step.ask) for step in self.steps])
        return ReminderRule(questions=self.questions, ask=self.ask, steps=steps)
