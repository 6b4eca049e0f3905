"""The steps that a tools file declares for generators, from which plans are made without a model. Pure values."""

from pydantic import Field

from runtime.core.events import Value


class DeclaredOutcome(Value):
    """One of the ways in which a declared step may succeed."""

    name: str
    """The name, as the binding reads it from the output."""
    effects: tuple[str, ...] = ()
    """Tokens that it adds, beside those of the step."""
    delete_effects: tuple[str, ...] = ()
    """Tokens that it deletes, beside those of the step."""


class DeclaredStep(Value):
    """The step of a plan that one generator carries out."""

    generator: str
    """The name of the generator."""
    guard: str = ""
    """The name of the guard that checks it; empty for none."""
    retry_budget: int = Field(default=3, ge=1)
    """Attempts, the first included."""
    preconditions: tuple[str, ...] = ()
    """Tokens that must hold before it, those included whose values its calls use."""
    effects: tuple[str, ...] = ()
    """Tokens that its success adds."""
    delete_effects: tuple[str, ...] = ()
    """Tokens that its success deletes, before tokens are added."""
    outcomes: tuple[DeclaredOutcome, ...] = ()
    """The ways in which it may succeed; empty if there is only one."""
