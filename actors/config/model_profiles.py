"""Reads the home's file of measured models: what was counted when `replan lab profile` measured them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from actors.config.model_spec import unpin_model
from actors.files.validation_errors import Config, usage_problem
from actors.files.yaml_document import read_document
from actors.policy.author import AttemptCounts

FORMAT = 1
"""The version of the file's format."""


class ModelProfile(AttemptCounts):
    """What was counted when a model was measured."""

    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """The day of the measurement."""

    @property
    def source(self) -> str:
        """Where the numbers come from, for people."""
        return f"profile ({self.runs} runs, {self.date})"


class ProfilesFile(Config):
    """The content of the file."""

    format: Literal[1] = 1
    models: Mapping[str, ModelProfile] = Field(default_factory=dict)
    """The profile of each measured model, by its name in the form of `--model`."""


def read_profiles(path: Path) -> ProfilesFile:
    """Return the measured models; none if there is no file. Raises `UsageProblem` for a wrong file."""
    if not path.exists():
        return ProfilesFile()
    document = read_document(path)
    hint = "delete the file, and measure the models again with `replan lab profile`"
    if (found := document.value.get("format")) != FORMAT:
        raise document.problem(f"has format {found!r}, and this version reads {FORMAT}", hint=hint)
    try:
        return ProfilesFile.model_validate(document.value)
    except ValidationError as error:
        raise usage_problem(error, document) from None


def read_profile(model: str, path: Path) -> ModelProfile | None:
    """Return the profile of a model; None if it was not measured. Raises `UsageProblem` for a wrong file."""
    return read_profiles(path).models.get(unpin_model(model))
