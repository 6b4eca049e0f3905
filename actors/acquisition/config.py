"""The configuration of a run: profile, prompts, model, price and search, stored by content at the start."""

import operator
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

from pydantic import Field

from actors.acquisition.profile import Profile
from actors.prompting.book import PromptBook
from actors.prompting.render import PromptTemplate
from actors.run.settings import SettingsChanged, for_calls
from actors.values.model_settings import ModelSettings
from runtime.core.events import Value
from runtime.core.ledger import Price


class RunConfig(Value):
    """The resolved configuration of one run, which its first event stores. Later decisions use no file."""

    profile: Profile
    """The profile, as its file was when the run began."""
    prompts: PromptBook
    """The prompts of the four calls."""
    model: str
    """The model in the form of `--model`."""
    price: Price | None = None
    """The model's price; None where it is unknown."""
    search: Mapping[str, Any] = Field(default_factory=dict)
    """What the search tool is opened with, a JSON object; empty where there is nothing to search."""
    output_tokens_max: int = Field(ge=1)
    """The most tokens of one reply."""
    timeout_seconds: float = Field(gt=0)
    """The time limit of one try of a call, in seconds."""
    model_settings: ModelSettings = Field(default_factory=ModelSettings, exclude_if=operator.not_)
    """The settings of the calls of the model."""
    search_seconds: float = Field(gt=0)
    """The time limit of one search, in seconds."""
    question_expires_seconds: float | None = Field(gt=0)
    """The seconds after which an unanswered question expires; None for never."""

    def with_settings(self, event: SettingsChanged) -> "RunConfig":
        """Return the configuration after a person has changed the model or the limits of a call."""
        changes = for_calls(event, self.timeout_seconds, self.model_settings)
        if not changes:
            return self
        # Neither a copy nor all attributes: both would have the cached properties, which the old values gave.
        return RunConfig(**({name: getattr(self, name) for name in RunConfig.model_fields} | changes))

    @cached_property
    def templates(self) -> dict[str, PromptTemplate]:
        """The prompts by the purpose of the call."""
        return {name: PromptTemplate(entry, self.prompts) for name, entry in self.prompts.entries.items()}


@lru_cache(maxsize=64)
def read_config(text: str) -> RunConfig:
    """Return the configuration that a run was started with, from its JSON. Runs with the same one share the value."""
    return RunConfig.model_validate_json(text)
