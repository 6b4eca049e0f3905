"""The model of profiles: the fields that an acquisition run fills, their sources, and the calculations. Pure."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints, ValidationError

from actors.files.validation_errors import Config
from actors.values.lines import BLANK, Line, indent_line, line
from replan_acquire.quantities.quantity import plain

TEXT_MAX = 500
"""The largest number of characters in one text of a profile."""
FIELDS_MAX = 200
"""The largest number of fields in a profile, and the largest number of results of its calculator."""
COMPONENTS_MAX = 8
"""The largest number of components in one decomposition."""
FORMULA_MAX = 300
"""The largest number of characters in one formula."""

FieldPath = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}(\.[a-z][a-z0-9_]{0,39}){0,3}$")]
"""The path of a field, such as `market.buildings`; formulas use it as a name."""
FieldName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""The name of a result of the calculator, or of a component in a decomposition."""
ShortText = Annotated[str, StringConstraints(min_length=1, max_length=TEXT_MAX)]
Formula = Annotated[str, StringConstraints(min_length=1, max_length=FORMULA_MAX)]

Source = Literal["web", "user", "components", "derived"]
FieldType = Literal["number", "text", "choice", "currency"]
Choose = Literal["confidence", "first", "median", "lowest", "highest"]


class FieldSpec(Config):
    """One field of the schema."""

    label: ShortText
    """The name of the value for people, models and searches, such as `number of apartment buildings`."""
    type: FieldType = "number"
    """The type of the value: a `number` with a unit, a `text`, a `choice`, or a `currency` (three letters)."""
    unit: Annotated[str, StringConstraints(max_length=80)] = ""
    """The unit of a number, such as `building`; empty for a plain number. `{PATH}` stands for a currency field."""
    minimum: float | None = Field(default=None, allow_inf_nan=False)
    """The smallest number that is accepted, in `unit`."""
    maximum: float | None = Field(default=None, allow_inf_nan=False)
    """The largest number that is accepted, in `unit`."""
    choices: tuple[ShortText, ...] = Field(default=(), max_length=50)
    """The allowed values of a field of type `choice`."""
    required: bool = True
    """Whether the run is incomplete without a value."""
    source: Source = "web"
    """How the value is acquired: by searches first, by a question, from components, or by a formula."""
    words: tuple[ShortText, ...] = Field(default=(), max_length=20)
    """Words with which documents name the value, most specific first; if there are none, the label is used."""
    query: Annotated[str, StringConstraints(max_length=TEXT_MAX)] = ""
    """The query of the field's first search. `{PATH}` stands for the value of a text field.

    By default, the query is made of the words.
    """
    question: Annotated[str, StringConstraints(max_length=TEXT_MAX)] = ""
    """The question to the user; by default, a question that is made of the label."""
    default: float | str | None = None
    """The value that is assumed if the searches find no value. The result marks the value as a default."""
    choose: Choose = "confidence"
    """The rule that chooses one of several values from sources. A value from the user always takes precedence."""
    period: Annotated[str, StringConstraints(pattern=r"^(latest|any|(19|20)[0-9][0-9])$")] = "latest"
    """The year whose values are used. `latest` is the latest year found, and `any` is every year. Values without a year
    are always used.
    """
    formula: Annotated[str, StringConstraints(max_length=FORMULA_MAX)] = ""
    """The formula of a derived field, over the paths of other fields."""
    decomposition: "Decomposition | Literal['generated'] | None" = None
    """The components of a field of source `components`. With `generated`, the model proposes the components."""


class Decomposition(Config):
    """The components of a field, and the formula that combines them. Each component is acquired like a field."""

    formula: Formula
    """The formula of the composed value, over the names of the components."""
    fields: Mapping[FieldName, FieldSpec] = Field(min_length=1, max_length=COMPONENTS_MAX)
    """The components by name. The path of a component is the path of the composed field, a dot and the name."""


class FormulaCheck(Config):
    """A comparison of two formulas, and the reason that people see."""

    check: Formula
    """Two formulas with one of `<`, `<=`, `>`, `>=`, `==` between them. Units are compared too."""
    why: ShortText
    """The reason that people see if the check blocks the calculation or ends the run."""


class ResultSpec(Config):
    """One result of the calculator."""

    label: ShortText
    """The name of the result for people, such as `serviceable market per year`."""
    formula: Formula
    """The formula over the paths of fields and the names of other results."""
    unit: Annotated[str, StringConstraints(max_length=80)] = ""
    """The unit in which the result is shown; empty for a plain number. `{PATH}` stands for a currency field."""


class Calculator(Config):
    """The calculations from the fields."""

    results: Mapping[FieldName, ResultSpec] = Field(min_length=1, max_length=FIELDS_MAX)
    """The results by name. The results are calculated in the order of their dependencies."""
    preconditions: tuple[FormulaCheck, ...] = Field(default=(), max_length=50)
    """Checks of the fields and results. A false check blocks the calculation."""


class Caps(Config):
    """The limits of a run in one round."""

    iterations: int = Field(default=40, ge=1, le=1000)
    """The largest number of passes through the acquisition graph (`replan_acquire.acquisition.graph`)."""
    attempts_per_field: int = Field(default=2, ge=1, le=20)
    """The largest number of searches for one field, and the largest number of questions about one field."""
    calculations: int = Field(default=3, ge=1, le=100)
    """The largest number of calculations."""


class Profile(Config):
    """A schema to fill: its fields, their sources, and the calculations from them."""

    model_config = ConfigDict(title="Replan acquisition profile")

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    """The name of the profile. A shipped profile is in the file NAME.yaml."""
    about: ShortText
    """The purpose of a run with this profile, in one sentence."""
    units: Mapping[FieldName, Annotated[str, StringConstraints(max_length=80)]] = Field(default={}, max_length=100)
    """The profile's own units by name. A unit such as `building`, which converts into no other unit, has an empty text.
    Any other unit has a size, such as `24 hour`.
    """
    bootstrap: tuple[FieldPath, ...] = Field(default=(), max_length=10)
    """The fields that the user is asked for before anything else, in this order, if they have no value."""
    fields: Mapping[FieldPath, FieldSpec] = Field(min_length=1, max_length=FIELDS_MAX)
    """The fields by path, in the order in which they are acquired."""
    calculator: Calculator | None = None
    """The calculations; null if the filled schema is the result."""
    stop_when: tuple[FormulaCheck, ...] = Field(default=(), max_length=20)
    """Checks that end the run early if they are true. A check is made once its fields have values."""
    caps: Caps = Field(default_factory=Caps)
    """The limits of a run in one round."""

    def static_fields(self) -> "Iterator[tuple[str, FieldSpec]]":
        """Yield all fields by path. The components of a decomposition in the file follow their field."""
        for path, spec in self.fields.items():
            yield path, spec
            if isinstance(spec.decomposition, Decomposition):
                for name, component in spec.decomposition.fields.items():
                    yield f"{path}.{name}", component


def read_profile_value(value: Any) -> Profile | None:
    """Return the profile that an artifact's JSON value describes; None if it describes no profile."""
    if not isinstance(value, dict) or "fields" not in value:
        return None
    try:
        return Profile.model_validate(value)
    except ValidationError:
        return None


def outline_json(profile: Profile) -> dict[str, Any]:
    """Return the outline of a profile as plain data: fields and their origins, results, checks and caps."""
    fields = [_field_json(path, spec, profile) for path, spec in profile.static_fields()]
    content: dict[str, Any] = {"profile": profile.name, "about": profile.about, "fields": fields, "results": []}
    if profile.calculator is not None:
        content["results"] = [
            {"name": name, "label": result.label, "unit": result.unit, "formula": result.formula}
            for name, result in profile.calculator.results.items()
        ]
        content["preconditions"] = [
            precondition.model_dump(mode="json") for precondition in profile.calculator.preconditions
        ]
    content["stop_when"] = [item.model_dump(mode="json") for item in profile.stop_when]
    content["caps"] = profile.caps.model_dump(mode="json")
    return content


def _field_json(path: str, spec: FieldSpec, profile: Profile) -> dict[str, Any]:
    shown: dict[str, Any] = {"path": path, "label": spec.label, "type": spec.type, "unit": spec.unit}
    shown |= {"required": spec.required, "source": spec.source, "origin": origin(path, spec, profile)}
    if spec.default is not None:
        shown["default"] = spec.default
    return shown


def origin(path: str, spec: FieldSpec, profile: Profile) -> str:
    """Return the origin of a field's value, in words."""
    if path in profile.bootstrap:
        return "you are asked for it first, unless you give it"
    match spec.source:
        case "user":
            return "you are asked"
        case "derived":
            return f"calculated: {spec.formula}"
        case "components":
            if isinstance(spec.decomposition, Decomposition):
                return f"composed of its components: {spec.decomposition.formula}"
            return "composed of components that the model proposes"
        case "web":
            if spec.default is None:
                return "searched for; else you are asked"
            default = spec.default if isinstance(spec.default, str) else plain(spec.default)
            return f"searched for; else {default} is assumed"


def outline_lines(profile: Profile) -> Iterator[Line]:
    """Yield the outline of a profile as lines."""
    yield line(profile.name, "bold")
    yield indent_line(profile.about)
    yield BLANK
    yield line("Fields", "bold")
    for path, spec in profile.static_fields():
        unit = f" in {spec.unit}" if spec.unit else "" if spec.type == "number" else f" ({spec.type})"
        optional = "" if spec.required else ", optional"
        yield indent_line(f"{path}: {spec.label}{unit}{optional}")
        yield indent_line(origin(path, spec, profile), "dim", columns=6)
    if profile.calculator is not None:
        yield BLANK
        yield line("Calculation", "bold")
        for name, result in profile.calculator.results.items():
            yield indent_line(f"{name}: {result.label}{f' in {result.unit}' if result.unit else ''}")
            yield indent_line(result.formula, "dim", columns=6)
        yield from (
            indent_line(f"calculated only if {precondition.check}: {precondition.why}")
            for precondition in profile.calculator.preconditions
        )
    yield from (indent_line(f"the run ends early if {item.check}: {item.why}") for item in profile.stop_when)
    caps: Mapping[str, int] = profile.caps.model_dump()
    yield BLANK
    yield line("Caps: " + ", ".join(f"{name.replace('_', ' ')} {most}" for name, most in caps.items()))
