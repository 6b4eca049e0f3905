"""How a workflow file specifies the guard of a step: by one name, or as a composite of several."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, StringConstraints, Tag, model_validator

from actors.files.config_model import Config, config_error

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Composite(Config):
    """A composite of several guards; exactly one of the keys is given."""

    all_of: tuple[Name, ...] | None = None
    """All are called, and all must pass."""
    first_failure: tuple[Name, ...] | None = None
    """They are called in order until one rejects; all must pass."""
    majority: tuple[Name, ...] | None = None
    """All are called, and more than half must pass."""

    @model_validator(mode="after")
    def _one_kind(self) -> "Composite":
        given = self.model_dump(exclude_none=True)
        if len(given) != 1 or not next(iter(given.values())):
            raise config_error("a composite guard has exactly one of all_of, first_failure, majority, with its guards")
        return self

    @property
    def kind(self) -> Literal["all_of", "first_failure", "majority"]:
        """How the verdicts of the members are combined."""
        if self.all_of is not None:
            return "all_of"
        return "first_failure" if self.first_failure is not None else "majority"

    @property
    def members(self) -> tuple[str, ...]:
        """The guards' names, in order."""
        return self.all_of or self.first_failure or self.majority or ()


def _guard_kind(value: Any) -> str:
    return "composite" if isinstance(value, dict | Composite) else "name"


Guard = Annotated[Annotated[Name, Tag("name")] | Annotated[Composite, Tag("composite")], Discriminator(_guard_kind)]
"""A guard's name or a composite. Discriminated before validation, so that an error message is about the right form."""
