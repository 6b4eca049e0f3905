"""The outline of a profile: where each field comes from and what is calculated, before any run. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from actors.acquisition.profile import Decomposition, FieldSpec, Profile
from actors.quantities.quantity import plain
from actors.values.lines import BLANK, Line, indented, line


def outline_json(profile: Profile) -> dict[str, Any]:
    """Return the outline as plain data: every field with its path, unit and origin, then results, checks and caps."""
    fields = [_field_json(path, spec, profile) for path, spec in profile.static_fields()]
    content: dict[str, Any] = {"profile": profile.name, "about": profile.about, "fields": fields, "results": []}
    if profile.calculator is not None:
        content["results"] = [
            {"name": name, "label": result.label, "unit": result.unit, "formula": result.formula}
            for name, result in profile.calculator.results.items()
        ]
        content["preconditions"] = [each.model_dump(mode="json") for each in profile.calculator.preconditions]
    content["stop_when"] = [each.model_dump(mode="json") for each in profile.stop_when]
    content["caps"] = profile.caps.model_dump(mode="json")
    return content


def _field_json(path: str, spec: FieldSpec, profile: Profile) -> dict[str, Any]:
    shown: dict[str, Any] = {"path": path, "label": spec.label, "type": spec.type, "unit": spec.unit}
    shown |= {"required": spec.required, "source": spec.source, "origin": origin(path, spec, profile)}
    if spec.default is not None:
        shown["default"] = spec.default
    return shown


def origin(path: str, spec: FieldSpec, profile: Profile) -> str:
    """Return where the value of a field comes from, in words."""
    if path in profile.bootstrap:
        return "you are asked first, unless it is given"
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
    """Yield the outline for people."""
    yield line(profile.name, "bold")
    yield indented(profile.about)
    yield BLANK
    yield line("Fields", "bold")
    for path, spec in profile.static_fields():
        unit = f" in {spec.unit}" if spec.unit else "" if spec.type == "number" else f" ({spec.type})"
        optional = "" if spec.required else ", optional"
        yield indented(f"{path}: {spec.label}{unit}{optional}")
        yield indented(origin(path, spec, profile), "dim", columns=6)
    if profile.calculator is not None:
        yield BLANK
        yield line("Calculation", "bold")
        for name, result in profile.calculator.results.items():
            yield indented(f"{name}: {result.label}{f' in {result.unit}' if result.unit else ''}")
            yield indented(result.formula, "dim", columns=6)
        yield from (indented(f"only if {each.check}: {each.why}") for each in profile.calculator.preconditions)
    yield from (indented(f"ends early if {each.check}: {each.why}") for each in profile.stop_when)
    caps: Mapping[str, int] = profile.caps.model_dump()
    yield BLANK
    yield line("Caps: " + ", ".join(f"{name.replace('_', ' ')} {most}" for name, most in caps.items()))
