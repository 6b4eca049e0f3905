"""Reads a profile by its shipped name or its path, and checks the whole profile.

Each error states the file, key and line.

The guard `profile_valid` judges a profile that a model proposes. The profile must be valid and have a result, and each
of its number fields must be used by a formula or a check. A number that a model invents has no source. So the profile
must not have defaults, and its formulas must not contain numbers other than 1.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from actors.config.loader import find_shipped
from actors.files.suggestions import nearest
from actors.files.validation_errors import KeyPath, ParsedFile
from actors.files.yaml_document import read_document
from actors.guards.fields import check_settings, object_of, verdict_of
from actors.guards.port import Guard
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Finding, Verdict
from replan.setup.installation import data_root
from replan_acquire.acquisition.calculation import names_of
from replan_acquire.acquisition.gates import require_node
from replan_acquire.acquisition.profile import Calculator, Decomposition, FieldSpec, FormulaCheck, Profile
from replan_acquire.acquisition.schema import SLOT, Schema, names_in
from replan_acquire.quantities.calculator import check_dimensions, check_formulas
from replan_acquire.quantities.formula import FormulaUnreadable, parse_formula
from replan_acquire.quantities.units import UnitTable
from runtime.core.errors import UsageProblem

Problem = tuple[KeyPath, str, str]


def _check_profile(profile: Profile, document: ParsedFile) -> None:
    found = list(problems(profile))
    if not found:
        return
    path, cause, hint = found[0]
    more = len(found) - 1
    counted = f"{more} more problem{'s' if more > 1 else ''} in this file" if more else ""
    raise document.problem(cause, path, "; ".join(filter(None, (hint, counted))))


def problems(profile: Profile) -> Iterator[Problem]:
    """Yield the errors of a profile, in the order in which a person should correct them."""
    table = UnitTable(profile.units)
    for name, cause in table.problems().items():
        yield ("units", name), cause, ""
    yield from _check_bootstrap(profile)
    for path, key, spec in _all_fields(profile):
        yield from _check_field(profile, table, path, key, spec)
    yield from _check_slots(profile)
    if profile.calculator is not None:
        yield from _check_results(profile, profile.calculator, table)
    known_units = _field_units(profile)
    yield from _check_all_formulas(profile, known_units, table)
    for number, check in enumerate(profile.stop_when):
        yield from _check_units(check, ("stop_when", number, "check"), known_units, table)


def _all_fields(profile: Profile) -> Iterator[tuple[str, KeyPath, FieldSpec]]:
    for path, spec in profile.fields.items():
        yield path, ("fields", path), spec
        if isinstance(spec.decomposition, Decomposition):
            for name, component in spec.decomposition.fields.items():
                yield f"{path}.{name}", ("fields", path, "decomposition", "fields", name), component


def _check_bootstrap(profile: Profile) -> Iterator[Problem]:
    nodes: dict[str, str] = {}
    for number, path in enumerate(profile.bootstrap):
        key: KeyPath = ("bootstrap", number)
        spec = profile.fields.get(path)
        if spec is None:
            yield key, f"{path!r} is not a field", nearest(path, profile.fields, kind="fields")
        elif spec.source != "user":
            yield key, f"the source of {path!r} is {spec.source!r}", "a bootstrap field must have the source `user`"
        elif not spec.required:
            yield key, f"{path!r} is not required", "a bootstrap field must be required"
        other = nodes.setdefault(require_node(path), path)
        if other != path or profile.bootstrap.index(path) != number:
            yield key, f"{path!r} and {other!r} end with the same name", "give the paths different last parts"


def _check_field(profile: Profile, table: UnitTable, path: str, key: KeyPath, spec: FieldSpec) -> Iterator[Problem]:
    samples = Schema.sample_units(profile)
    if spec.type != "number":
        for name in ("unit", "minimum", "maximum", "formula", "decomposition"):
            if getattr(spec, name) not in ("", None):
                cause = f"a field of type `{spec.type}` must not have `{name}`"
                yield (*key, name), cause, f"leave `{name}` out, or set `type: number`"
    elif problem := table.problem(Schema.sample(spec.unit, samples)):
        yield (*key, "unit"), problem, "declare the unit under `units`, or use a known unit"
    if (spec.type == "choice") != bool(spec.choices):
        yield (*key, "choices"), "a field needs `choices` if its type is `choice`, and must not have them otherwise", ""
    if spec.minimum is not None and spec.maximum is not None and spec.minimum > spec.maximum:
        cause = f"the minimum {spec.minimum:g} is above the maximum {spec.maximum:g}"
        yield (*key, "minimum"), cause, "exchange the two bounds"
    yield from _check_default(key, spec)
    yield from _check_made_field(profile, path, key, spec)


def _check_default(key: KeyPath, spec: FieldSpec) -> Iterator[Problem]:
    value = spec.default
    if value is None:
        return
    place = (*key, "default")
    if isinstance(value, str) == (spec.type == "number"):
        yield place, f"{value!r} does not fit the type `{spec.type}`", ""
        return
    if isinstance(value, str):
        if spec.type == "choice" and value not in spec.choices:
            yield place, f"{value!r} is not one of the choices", nearest(value, spec.choices, kind="choices")
    elif (spec.minimum is not None and value < spec.minimum) or (spec.maximum is not None and value > spec.maximum):
        yield place, f"{value:g} is outside the bounds", "give a default between `minimum` and `maximum`"
    if spec.source in ("components", "derived"):
        yield place, "a field that is computed from others must not have a default", "give defaults to those fields"


def _check_made_field(profile: Profile, path: str, key: KeyPath, spec: FieldSpec) -> Iterator[Problem]:
    if (spec.source == "derived") != bool(spec.formula):
        cause = "a field needs `formula` if its source is `derived`, and must not have it otherwise"
        yield (*key, "formula"), cause, ""
    if (spec.source == "components") != (spec.decomposition is not None):
        cause = "a field needs `decomposition` if its source is `components`, and must not have it otherwise"
        yield (*key, "decomposition"), cause, "give components, or `generated`"
    if path in profile.fields:
        return
    if spec.source not in ("web", "user") or spec.type != "number":
        yield (*key, "source"), "a component must be a number with the source `web` or `user`", ""
    if path.count(".") > 3:
        yield key, f"the path {path!r} has too many parts", "use at most four parts"


def _check_slots(profile: Profile) -> Iterator[Problem]:
    currencies = {path for path, spec in profile.fields.items() if spec.type == "currency"}
    texts = {path for path, spec in profile.fields.items() if spec.type != "number"}
    units = [((*key, "unit"), spec.unit) for _, key, spec in _all_fields(profile)]
    if profile.calculator is not None:
        units += [
            (("calculator", "results", name, "unit"), result.unit)
            for name, result in profile.calculator.results.items()
        ]
    for key, unit in units:
        for slot in SLOT.findall(unit):
            if slot not in currencies or slot not in profile.bootstrap:
                yield key, f"{{{slot}}} is not a bootstrap field of type `currency`", nearest(slot, currencies)
    for _, key, spec in _all_fields(profile):
        for name in ("query", "question"):
            for slot in SLOT.findall(getattr(spec, name)):
                if slot not in texts:
                    cause = f"{{{slot}}} is not a field of type `text`, `choice` or `currency`"
                    yield (*key, name), cause, nearest(slot, texts, kind="fields")


def _field_units(profile: Profile) -> dict[str, str]:
    samples = Schema.sample_units(profile)
    units = {path: Schema.sample(spec.unit, samples) for path, _, spec in _all_fields(profile) if spec.type == "number"}
    if profile.calculator is not None:
        units |= {name: Schema.sample(result.unit, samples) for name, result in profile.calculator.results.items()}
    return units


def _check_results(profile: Profile, calculator: Calculator, table: UnitTable) -> Iterator[Problem]:
    samples, units = Schema.sample_units(profile), _field_units(profile)
    for name, result in calculator.results.items():
        key: KeyPath = ("calculator", "results", name)
        if name in profile.fields:
            yield key, f"a field is also named {name!r}", "give the result another name"
        if problem := table.problem(Schema.sample(result.unit, samples)):
            yield (*key, "unit"), problem, "declare the unit under `units`, or use a known unit"
    for number, check in enumerate(calculator.preconditions):
        yield from _check_units(check, ("calculator", "preconditions", number, "check"), units, table)


def _check_all_formulas(profile: Profile, units: Mapping[str, str], table: UnitTable) -> Iterator[Problem]:
    """Yield the errors in formulas.

    Derived fields and results are checked together. Each decomposition is checked by itself.
    """
    places: dict[str, KeyPath] = {}
    formulas: dict[str, str] = {}
    for path, spec in profile.fields.items():
        if spec.source == "derived" and spec.formula:
            formulas[path], places[path] = spec.formula, ("fields", path, "formula")
    if profile.calculator is not None:
        for name, result in profile.calculator.results.items():
            formulas[name], places[name] = result.formula, ("calculator", "results", name, "formula")
    results = set(profile.calculator.results) if profile.calculator is not None else set()
    for path, formula in formulas.items():
        if path not in results and (used := sorted(results & {*names_in(formula)})):
            yield places[path], f"a field cannot use {used[0]!r}, which is a result of the calculator", ""
    for found in check_formulas(formulas, units, table):
        yield places[found.path], found.cause, found.hint
    for path, spec in profile.fields.items():
        if isinstance(spec.decomposition, Decomposition):
            yield from _check_decomposition(path, spec.decomposition, units, table)


def _check_decomposition(
    path: str, made: Decomposition, units: Mapping[str, str], table: UnitTable
) -> Iterator[Problem]:
    key: KeyPath = ("fields", path, "decomposition")
    inner = {name: units.get(f"{path}.{name}", "") for name in made.fields}
    for found in check_formulas({"": made.formula}, {**inner, "": units.get(path, "")}, table):
        yield (*key, "formula"), found.cause, found.hint
    used = names_in(made.formula)
    for name in made.fields:
        if used and name not in used:
            yield (*key, "fields", name), f"the formula does not use {name!r}", "leave the component out"


def _check_units(check: FormulaCheck, key: KeyPath, units: Mapping[str, str], table: UnitTable) -> Iterator[Problem]:
    if problem := check_dimensions(check.check, units, table):
        yield key, problem, "such as sales.share <= 1"


def unused_fields(profile: Profile) -> tuple[str, ...]:
    """Return the paths of the number fields that no formula and no check of the profile uses.

    If the profile has no calculator, the filled schema is the result, so no field is unused.
    """
    if profile.calculator is None:
        return ()
    checks = [*profile.calculator.preconditions, *profile.stop_when]
    formulas = [result.formula for result in profile.calculator.results.values()]
    formulas += [spec.formula for spec in profile.fields.values() if spec.formula]
    used = {name for formula in formulas for name in names_in(formula)}
    used |= {name for check in checks for name in names_of(check)}
    return tuple(path for path, spec in profile.fields.items() if spec.type == "number" and path not in used)


FOLDER = "acquisition"


@dataclass(frozen=True, slots=True)
class LoadedProfile:
    """A checked profile, with its file."""

    profile: Profile
    source: str
    """The name of a shipped profile, or the absolute path of its file."""
    document: ParsedFile


def _folder() -> Path:
    return data_root("replan_acquire") / "configs" / FOLDER


def shipped_profiles() -> tuple[str, ...]:
    """Return the names of the shipped profiles, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.yaml")))


def is_profile(name_or_path: str) -> bool:
    """Return whether a text is the name of a shipped profile, or the path of a file with the key `fields`.

    Raises:
        UsageProblem: the file exists, but cannot be read.
    """
    if name_or_path in shipped_profiles():
        return True
    path = Path(name_or_path).expanduser()
    if not path.is_file():
        return False
    value = read_document(path).value
    return isinstance(value, dict) and "fields" in value


def read_profile(document: ParsedFile) -> Profile:
    """Return the profile that a YAML document describes. Raises `UsageProblem` for an invalid profile."""
    profile = document.read_as(Profile)
    _check_profile(profile, document)
    return profile


def load_profile(name_or_path: str) -> LoadedProfile:
    """Read and check a profile.

    Raises:
        UsageProblem: there is no such profile, or it is invalid.
    """
    shipped = _folder()
    path = find_shipped(name_or_path, shipped, "profile", (), place="PROFILE")
    document = read_document(path)
    profile = read_profile(document)
    is_shipped = path.parent == shipped
    if is_shipped and profile.name != path.stem:
        cause = f"the profile's name is {profile.name!r}, but the name of its file is {path.name}"
        raise UsageProblem(cause, place=document.place(("name",)))
    return LoadedProfile(profile, path.stem if is_shipped else str(path.absolute()), document)


NAME = "profile_valid"
INVALID = "profile.invalid"
"""The code of a finding about an error that makes a profile invalid."""
NO_RESULT = "profile.no_result"
"""The code of a finding about a profile that calculates nothing."""
UNUSED = "profile.unused_field"
"""The code of a finding about a field that changes no result."""
UNVOUCHED = "profile.unvouched_number"
"""The code of a finding about a number without a source: a default, or a number in a formula."""


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard. This guard has no settings."""
    check_settings(NAME, config, ())

    def guard(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001 - a guard's signature
        value, findings = object_of(artifact)
        if value is None:
            return verdict_of(NAME, findings)
        found = list(_profile_findings(value))
        fields = value.get("fields")
        return verdict_of(NAME, found, checks=len(found) + (len(fields) if isinstance(fields, dict) else 0) + 1)

    return guard


def _profile_findings(value: Mapping[str, Any]) -> Iterator[Finding]:
    try:
        profile = Profile.model_validate(value)
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False, include_input=False):
            yield Finding(code=INVALID, message=item["msg"], where=".".join(map(str, item["loc"])))
        return
    for path, cause, hint in problems(profile):
        text = f"{cause} ({hint})" if hint else cause
        yield Finding(code=INVALID, message=text, where=".".join(map(str, path)))
    if profile.calculator is None:
        text = "the profile calculates nothing: give `calculator.results`"
        yield Finding(code=NO_RESULT, message=text, where="calculator")
    for name in unused_fields(profile):
        text = "no formula uses the field: use it in a formula, or leave it out"
        yield Finding(code=UNUSED, message=text, where=f"fields.{name}")
    yield from _unvouched_findings(profile)


def _unvouched_findings(profile: Profile) -> Iterator[Finding]:
    formulas = {f"fields.{path}.formula": spec.formula for path, spec in profile.fields.items() if spec.formula}
    if profile.calculator is not None:
        formulas |= {
            f"calculator.results.{name}": result.formula for name, result in profile.calculator.results.items()
        }
    for where, formula in formulas.items():
        for number in _numbers(formula):
            yield Finding(code=UNVOUCHED, message=f"make the number {number:g} a field of its own", where=where)
    for path, spec in profile.fields.items():
        if spec.default is not None:
            text = "a default has no source: leave it out"
            yield Finding(code=UNVOUCHED, message=text, where=f"fields.{path}.default")


def _numbers(formula: str) -> tuple[float, ...]:
    try:
        return tuple(number for number in parse_formula(formula).numbers if number != 1)
    except FormulaUnreadable:
        return ()  # `problems` has named it.
