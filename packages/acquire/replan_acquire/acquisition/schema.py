"""The schema of a run: all fields, the formulas of computed fields, and the chosen values. Pure.

The schema is never stored. It is made from the profile and the models' decompositions whenever it is needed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from replan_acquire.acquisition.planner_state import PlannerState
from replan_acquire.acquisition.profile import Decomposition, FieldSpec, Profile
from replan_acquire.acquisition.state import State
from replan_acquire.acquisition.values import FieldValue, choose_value
from replan_acquire.quantities.formula import FormulaUnreadable, parse_formula
from replan_acquire.quantities.units import UnitTable

SLOT = re.compile(r"\{([a-z][a-z0-9_.]*)\}")
"""Matches a slot in a unit, a query or a question: the path of another field in braces."""


@dataclass(frozen=True, slots=True)
class Composition:
    """The formula of a field that is computed from other fields."""

    formula: str
    names: Mapping[str, str]
    """For each name in the formula, the path of the field that it means."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The paths of the fields from which the field is computed, in the order of the formula."""
        return tuple(dict.fromkeys(self.names.values()))


@dataclass(frozen=True)
class Schema:
    """The fields of a run, and their values."""

    profile: Profile
    planner: PlannerState

    @cached_property
    def fields(self) -> dict[str, FieldSpec]:
        """All fields by path. A field's components come directly after it."""
        found: dict[str, FieldSpec] = {}
        for path, spec in self.profile.fields.items():
            found[path] = spec
            made_of = self.decomposition(path)
            if made_of is not None:
                found |= {f"{path}.{name}": component for name, component in made_of.fields.items()}
        return found

    @cached_property
    def units(self) -> UnitTable:
        """The units that the profile may use."""
        return UnitTable(self.profile.units)

    @cached_property
    def compositions(self) -> dict[str, Composition]:
        """The compositions of the fields that are computed from other fields, by path."""
        by_path = {}
        for path, spec in self.profile.fields.items():
            made_of = self.decomposition(path)
            if made_of is not None:
                by_path[path] = Composition(made_of.formula, {name: f"{path}.{name}" for name in made_of.fields})
            elif spec.source == "derived":
                by_path[path] = Composition(spec.formula, {name: name for name in names_in(spec.formula)})
        return by_path

    def decomposition(self, path: str) -> Decomposition | None:
        """Return the decomposition of a field, from the profile or from a model; None if there is none."""
        spec = self.profile.fields.get(path)
        if spec is None or spec.source != "components":
            return None
        own = spec.decomposition
        return own if isinstance(own, Decomposition) else self.planner.decompositions.get(path)

    def lacks_decomposition(self, path: str) -> bool:
        """Return whether a field still needs a decomposition from a model."""
        spec = self.profile.fields.get(path)
        generated = spec is not None and spec.source == "components" and spec.decomposition == "generated"
        return generated and path not in self.planner.decompositions

    def is_direct(self, path: str) -> bool:
        """Return whether a field is acquired by searches or questions, and not computed from other fields."""
        return path in self.profile.fields and not self.is_made(path)

    def is_made(self, path: str) -> bool:
        """Return whether a field is computed from other fields, or waits for a model to propose its decomposition.

        The result is False if no proposal could be used.
        """
        return path in self.compositions or self.lacks_decomposition(path)

    def value(self, path: str) -> FieldValue | None:
        """Return the chosen value of a field; None if it has no value."""
        spec = self.fields.get(path)
        return None if spec is None else choose_value(spec, self.planner.values.get(path, ()))

    def text(self, path: str) -> str:
        """Return the value of a field as a text for queries and questions; empty if it has no value."""
        value = self.value(path)
        return "" if value is None else (value.value if isinstance(value.value, str) else f"{value.value:g}")

    def fill_slots(self, template: str) -> str:
        """Return a text in which the field's value replaces each slot `{PATH}`, or nothing if it has no value."""
        return " ".join(SLOT.sub(lambda match: self.text(match[1]), template).split())

    def unit(self, path: str) -> str | None:
        """Return the unit of a field; None if the unit contains a currency that is not known yet."""
        return self.unit_of(self.fields[path].unit)

    def unit_of(self, unit: str) -> str | None:
        """Return a unit in which each slot `{PATH}` is replaced by a currency; None if a currency is not known yet."""
        if any(not self.text(path) for path in SLOT.findall(unit)):
            return None
        return SLOT.sub(lambda match: self.text(match[1]), unit)

    @staticmethod
    def sample_units(profile: Profile) -> dict[str, str]:
        """Return a sample currency for each currency field, to check units before the values are known."""
        return {path: "EUR" for path, spec in profile.fields.items() if spec.type == "currency"}

    @staticmethod
    def sample(unit: str, samples: Mapping[str, str]) -> str:
        """Return a unit in which each slot `{PATH}` is replaced by a sample currency.

        A slot without a sample is not changed.
        """
        return SLOT.sub(lambda match: samples.get(match[1], match[0]), unit)

    def components(self, path: str) -> Iterator[str]:
        """Yield the paths of the fields from which a field is computed, except those that are computed themselves."""
        composition = self.compositions.get(path)
        for inner in () if composition is None else composition.inputs:
            if self.is_made(inner):
                yield from self.components(inner)
            else:
                yield inner


def schema_of(state: State) -> Schema:
    """Return the schema of a run."""
    return Schema(state.config.profile, state.planner)


def names_in(formula: str) -> tuple[str, ...]:
    """Return the names in a formula, in order; empty if the formula is unreadable."""
    try:
        return parse_formula(formula).names
    except FormulaUnreadable:
        return ()
