"""The settings of people who answer questions through links: their webhooks, what they may answer, and the secrets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from actors.files.validation_errors import Config
from replan.setup.webhook import SECRETS_MAX, check_secrets, key_of


class PersonEntry(Config):
    """A person who is sent links that answer questions."""

    webhooks: Annotated[tuple[str, ...], Field(min_length=1)]
    """The webhooks whose messages have this person's links; nobody else may read what these deliver."""
    may: Literal["answer", "approve"] = "answer"
    """What the links answer: ordinary questions, or also approvals, reviews, and what became of a tool's call."""

    def may_answer(self, *, people_only: bool) -> bool:
        """Tell whether this person may answer a question, which no program may answer where it is `people_only`."""
        return self.may == "approve" or not people_only


class AnswerLinks(Config):
    """What signs the links that answer questions."""

    secrets: Annotated[tuple[SecretStr, ...], Field(min_length=1, max_length=SECRETS_MAX)]
    """Secrets of the form of a webhook's. The first one signs, and links of all of them are taken."""
    hours: Annotated[int, Field(ge=1, le=720)] = 72
    """How long after its message was made a link can be used."""

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        check_secrets(self.secrets)
        return self


@dataclass(frozen=True, slots=True)
class Answering:
    """Who may answer questions through links, and what signs these."""

    people: Mapping[str, PersonEntry]
    """The people by name."""
    links: AnswerLinks
    """The secrets, and for how long a link can be used."""

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The keys, the one that signs first."""
        return tuple([key for secret in self.links.secrets if (key := key_of(secret)) is not None])
