"""Reads from files how often a model's attempts are accepted, and how often they repeat a rejected text.

`configs/model_families.yaml` has these numbers for families of models. A file in the user's home has the same numbers
for each model that `replan lab profile` has measured.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from actors.config.model_spec import is_author, unpin_model
from actors.files.validation_errors import Config
from actors.files.yaml_document import read_document
from actors.policy.author import AttemptCounts, Author, Chance


class FamilyRecord(Config):
    """The numbers of a family of models, with the records that they come from."""

    first_accepted: Chance
    """The share of first attempts that are accepted."""
    told_retry_mends: Chance
    """The share of retries that are accepted, among retries whose prompts show the finding."""
    afresh_mends: Chance
    """The share of fresh attempts at a rejected task that are accepted."""
    repeats: Chance
    """The share of retries that repeat the rejected text word for word."""
    n: Annotated[int, Field(ge=1)]
    """The number of rejections that were counted."""
    source: str
    """The name of the records in which the attempts were counted."""
    date: str


class Family(FamilyRecord):
    """A family of models, and a pattern for the names of its models."""

    pattern: Annotated[str, Field(min_length=1)]
    """The pattern of the models' names in lower case, in which `*` stands for any text."""


class FamilyTable(Config):
    """The content of `configs/model_families.yaml`."""

    middle: FamilyRecord
    """The middle values of all models in the records. `configs/policies/belief.yaml` repeats these values under
    `author`.
    """
    families: tuple[Family, ...]


def find_author(model: str, root: Path) -> Author | None:
    """Return the numbers of a model's family; None if the model's name belongs to no family.

    If several patterns match the name in lower case, the longest pattern is used. Raises `UsageProblem` for an invalid
    table.
    """
    if not is_author(model):
        return None
    name = unpin_model(model).lower()
    found = [family for family in _read_table(root).families if fnmatchcase(name, family.pattern)]
    if not found:
        return None
    family = max(found, key=lambda family: len(family.pattern))
    return Author(
        first_accepted=family.first_accepted,
        told_retry_mends=family.told_retry_mends,
        repeats=family.repeats,
        afresh_mends=family.afresh_mends,
        source=f"family {family.pattern}: {family.n} rejections in {family.source}, {family.date}",
    )


@lru_cache(maxsize=4)
def _read_table(root: Path) -> FamilyTable:
    return read_document(root / "configs" / "model_families.yaml").read_as(FamilyTable)


FORMAT = 1


class ModelProfile(AttemptCounts):
    """The counts from one measurement of a model."""

    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """The day of the measurement."""

    @property
    def source(self) -> str:
        """The source of the numbers, as a text for people."""
        return f"profile ({self.runs} runs, {self.date})"


class ProfilesFile(Config):
    """The content of the home's file of measured models."""

    format: Literal[1] = 1
    models: Mapping[str, ModelProfile] = Field(default_factory=dict)
    """The profile of each measured model, by its name in the form of `--model`."""


def read_profiles(path: Path) -> ProfilesFile:
    """Return the measured models; an empty mapping if there is no file. Raises `UsageProblem` for an invalid file."""
    if not path.exists():
        return ProfilesFile()
    document = read_document(path)
    hint = "delete the file, and measure the models again with `replan lab profile`"
    if (found := document.value.get("format")) != FORMAT:
        raise document.problem(
            f"the file has format {found!r}; this version of Replan reads format {FORMAT}", hint=hint
        )
    return document.read_as(ProfilesFile)


def read_profile(model: str, path: Path) -> ModelProfile | None:
    """Return the profile of a model; None if it was not measured. Raises `UsageProblem` for an invalid file."""
    return read_profiles(path).models.get(unpin_model(model))
