"""Reads `configs/model_families.yaml`: how often models of each family succeed and repeat themselves."""

from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from actors.config.model_spec import is_author, unpin_model
from actors.files.validation_errors import Config, usage_problem
from actors.files.yaml_document import read_document
from actors.policy.author import Author, Chance


class FamilyRecord(Config):
    """The numbers of a family of models, with their source."""

    first_accepted: Chance
    """How often a first attempt is accepted."""
    told_retry_mends: Chance
    """How often a retry that shows the finding is accepted."""
    afresh_mends: Chance
    """How often a fresh attempt at a rejected task is accepted."""
    repeats: Chance
    """How often a retry is the rejected text again, word for word."""
    n: Annotated[int, Field(ge=1)]
    """How many rejections were counted."""
    source: str
    """The records that were counted."""
    date: str


class Family(FamilyRecord):
    """A family of models and the names that belong to it."""

    pattern: Annotated[str, Field(min_length=1)]
    """The pattern of the names in lower case, with `*` for any text."""


class FamilyTable(Config):
    """The content of the file."""

    middle: FamilyRecord
    """The middle of all models in the records, which `configs/policies/belief.yaml` repeats under `author`."""
    families: tuple[Family, ...]


def find_author(model: str, root: Path) -> Author | None:
    """Return the numbers of a model's family; None if no family has the model's name.

    The longest pattern that matches the name in lower case counts. Raises `UsageProblem` for a wrong table.
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
    document = read_document(root / "configs" / "model_families.yaml")
    try:
        return FamilyTable.model_validate(document.value)
    except ValidationError as error:
        raise usage_problem(error, document) from None
