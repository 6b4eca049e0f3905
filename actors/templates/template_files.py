"""Reads and checks the template files in `configs/templates/`."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from actors.config.model_spec import TEMPLATE_NAMES
from actors.files.validation_errors import Config, KeyPath
from actors.files.yaml_document import read_document
from actors.values.requirements import RequirementKind

STEP_ID = r"^[a-z][a-z0-9_]{0,63}$"
"""The regular expression for the id of a step, and also for the token that the step makes."""
Name = Annotated[str, Field(pattern=STEP_ID)]


class TemplateStep(Config):
    """A step of a template. The comments in `configs/templates/bug.yaml` explain the keys."""

    id: Name
    name: str
    text: tuple[str, ...] = Field(min_length=1)
    """The sentences of the description. If the user's texts name no files, sentences with `{files}` are removed."""
    generator: str
    guard: str
    tries: int = Field(ge=1)
    """The step's retry budget."""
    makes: Name
    """The token that the step makes. Each repetition of the step appends its number to the token."""
    after: tuple[str, ...] = ()
    """The ids of the steps on which this step depends."""
    back: str = ""
    """The step to which execution goes back after a failure; empty if a person is asked instead."""
    each: tuple[RequirementKind, ...] = ()
    """The kinds of demands for which the step is repeated; empty if the step is not repeated."""
    satisfies: tuple[RequirementKind, ...] = ()
    """The kinds of demands that the step satisfies all at once."""
    key: bool = False
    """Whether the step is a key step of the strategy."""
    needed: bool = False
    """Whether every plan has the step. A plan has any other step only if tools of the run execute and check the step.
    """


class TemplateStrategy(Config):
    """The strategy that a template follows."""

    id: str
    name: str
    guards: tuple[str, ...]
    """The names of the guards that the plan uses."""


class PlanTemplate(Config):
    """A template: a plan for one kind of problem."""

    kind: str
    """The type of problem: a `problem_type` of an analysis."""
    noun: str
    """The type of problem in words."""
    goal: str
    strategy: TemplateStrategy
    steps: tuple[TemplateStep, ...] = Field(min_length=1)
    """The steps in their order. A step refers only to earlier steps."""


@cache
def load_templates(folder: Path) -> dict[str, PlanTemplate]:
    """Return the templates in `folder` by name. Raises `UsageProblem` with file, line and key."""
    templates = {}
    for name in TEMPLATE_NAMES:
        document = read_document(folder / f"{name}.yaml")
        templates[name] = document.read_as(PlanTemplate)
        for path, cause in _wrong_references(templates[name]):
            raise document.problem(cause, path)
    return templates


def _wrong_references(template: PlanTemplate) -> Iterator[tuple[KeyPath, str]]:
    known: set[str] = set()
    for position, step in enumerate(template.steps):
        for key, names in (("after", step.after), ("back", (step.back,) if step.back else ())):
            for name in names:
                if name not in known:
                    yield ("steps", position, key), f"no earlier step has the id {name!r}"
        known.add(step.id)
