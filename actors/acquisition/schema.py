"""The schema of a run as its nodes see it: all fields with their recipes, and the values that count. Pure.

It is rebuilt wherever it is needed, from the profile and the decompositions: nothing of it is stored.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from actors.acquisition.planner_state import PlannerState
from actors.acquisition.profile import Decomposition, FieldSpec, Profile
from actors.acquisition.state import State
from actors.acquisition.values import FieldValue, choose_value
from actors.quantities.formula import FormulaUnreadable, parse_formula
from actors.quantities.units import UnitTable

SLOT = re.compile(r"\{([a-z][a-z0-9_.]*)\}")
"""A slot of a unit, a query or a question: the path of another field in braces."""


@dataclass(frozen=True, slots=True)
class Composition:
    """How a field is made of others."""

    formula: str
    """The formula, over the names below."""
    names: Mapping[str, str]
    """The path of the field behind each name in the formula."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The paths of the fields that it is made of, in the order in which the formula names them."""
        return tuple(dict.fromkeys(self.names.values()))


@dataclass(frozen=True)
class Schema:
    """The fields of a run, and their values."""

    profile: Profile
    """The profile of the run."""
    planner: PlannerState
    """The planner's state, with the values and the proposed decompositions."""

    @cached_property
    def fields(self) -> dict[str, FieldSpec]:
        """All fields by path, with all components behind the field that they compose."""
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
        """The formula and the inputs of each field that is computed from others and has a decomposition."""
        by_path = {}
        for path, spec in self.profile.fields.items():
            made_of = self.decomposition(path)
            if made_of is not None:
                by_path[path] = Composition(made_of.formula, {name: f"{path}.{name}" for name in made_of.fields})
            elif spec.source == "derived":
                by_path[path] = Composition(spec.formula, {name: name for name in names_in(spec.formula)})
        return by_path

    def decomposition(self, path: str) -> Decomposition | None:
        """Return the decomposition of a field, of the profile or proposed by a model; None where there is none."""
        spec = self.profile.fields.get(path)
        if spec is None or spec.source != "components":
            return None
        return (
            spec.decomposition
            if isinstance(spec.decomposition, Decomposition)
            else self.planner.decompositions.get(path)
        )

    def lacks_decomposition(self, path: str) -> bool:
        """Tell whether a field is to be composed of components that a model has not been asked for yet."""
        spec = self.profile.fields.get(path)
        generated = spec is not None and spec.source == "components" and spec.decomposition == "generated"
        return generated and path not in self.planner.decompositions

    def is_direct(self, path: str) -> bool:
        """Tell whether a field of the profile is searched for or asked, and not made of others."""
        return path in self.profile.fields and not self.is_made(path)

    def is_made(self, path: str) -> bool:
        """Tell whether a field is made of others; one without a usable decomposition is acquired directly."""
        return path in self.compositions or self.lacks_decomposition(path)

    def value(self, path: str) -> FieldValue | None:
        """Return the value of a field that counts; None where it has none."""
        spec = self.fields.get(path)
        return None if spec is None else choose_value(spec, self.planner.values.get(path, ()))

    def text(self, path: str) -> str:
        """Return the value of a field as a text for queries and questions; empty where it has none."""
        value = self.value(path)
        return "" if value is None else (value.value if isinstance(value.value, str) else f"{value.value:g}")

    def filled(self, template: str) -> str:
        """Return a text with the slots of other fields filled; one without a value becomes nothing."""
        return " ".join(SLOT.sub(lambda match: self.text(match[1]), template).split())

    def unit(self, path: str) -> str | None:
        """Return the unit of a field; None where a field that its unit names has no value yet."""
        return self.unit_of(self.fields[path].unit)

    def unit_of(self, unit: str) -> str | None:
        """Return a unit with the slots of currency fields filled; None where one has no value yet."""
        if any(not self.text(path) for path in SLOT.findall(unit)):
            return None
        return SLOT.sub(lambda match: self.text(match[1]), unit)

    @staticmethod
    def sample_units(profile: Profile) -> dict[str, str]:
        """Return a currency for each currency field, to check units before its value is known."""
        return {path: "EUR" for path, spec in profile.fields.items() if spec.type == "currency"}

    @staticmethod
    def sample(unit: str, samples: Mapping[str, str]) -> str:
        """Return a unit with each slot replaced by the sample of its field; a slot whose field has no sample stays."""
        return SLOT.sub(lambda match: samples.get(match[1], match[0]), unit)

    def components(self, path: str) -> Iterator[str]:
        """Yield the paths of the fields that a made field needs and that are acquired directly, in order."""
        made = self.compositions.get(path)
        for inner in () if made is None else made.inputs:
            if self.is_made(inner):
                yield from self.components(inner)
            else:
                yield inner


def schema_of(state: State) -> Schema:
    """Return the schema of a run."""
    return Schema(state.config.profile, state.planner)


def names_in(formula: str) -> tuple[str, ...]:
    """Return the names in a formula, in order; none for one that cannot be read."""
    try:
        return parse_formula(formula).names
    except FormulaUnreadable:
        return ()
