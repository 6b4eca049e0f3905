"""The settings of a Slack app whose buttons answer questions: the workspace, and the secrets that sign its requests."""

from typing import Annotated, Self

from pydantic import Field, SecretStr, model_validator

from actors.files.validation_errors import Config, config_error

SECRETS_MAX = 4
"""How many signing secrets may be valid: one, and another while it is replaced."""
ID_MAX = 32
"""The longest id of a workspace or an account."""


class SlackEntry(Config):
    """The Slack app that posts the messages, and sends what people press to Replan."""

    signing_secrets: Annotated[tuple[SecretStr, ...], Field(min_length=1, max_length=SECRETS_MAX)]
    """The app's signing secret; while it is replaced, the new one and the old one."""
    team: str
    """The id of the workspace, such as `T0123ABCD`: the accounts of others answer nothing."""

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        check_slack_id(self.team, "team", "T")
        for secret in self.signing_secrets:
            text = secret.get_secret_value()
            if len(text) not in range(16, 129) or not text.isascii() or not text.isalnum():
                hint = "copy it from the app's page, under Basic Information"
                raise config_error("a secret is not of the form of Slack's", ("signing_secrets",), hint)
        return self


def check_slack_id(text: str, key: str, *letters: str) -> None:
    """Raise a config error for a text that is no id of Slack; `letters` are those that it may begin with."""
    plain = text.isascii() and text.isalnum() and text.isupper() and len(text) <= ID_MAX
    if not plain or len(text) < 2 or text[0] not in letters:
        hint = f"capital letters and digits, such as {letters[0]}0123ABCD"
        raise config_error(f"{text[:40]!r} is no id of Slack", (key,), hint)
