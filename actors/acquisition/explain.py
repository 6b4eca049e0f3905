"""What a profile fills and where each field comes from, as data and as lines for people. Pure."""

from typing import Any

from actors.acquisition.planner_state import PlannerState
from actors.acquisition.profile import FieldSpec, Profile
from actors.acquisition.schema import Schema
from actors.acquisition.table import graph_for
from actors.values.lines import BLANK, Line, indented, line


def explain(profile: Profile) -> dict[str, Any]:
    """Return what a profile fills, as plain data: its fields in order, the calculation, the caps and the nodes."""
    schema = Schema(profile, PlannerState())
    results = {} if profile.calculator is None else profile.calculator.results
    checks = () if profile.calculator is None else profile.calculator.preconditions
    return {
        "profile": profile.name,
        "about": profile.about,
        "bootstrap": list(profile.bootstrap),
        "fields": [_field(schema, path, spec) for path, spec in schema.fields.items()],
        "results": [
            {"name": name, "label": each.label, "formula": each.formula, "unit": each.unit}
            for name, each in results.items()
        ],
        "preconditions": [{"check": each.check, "why": each.why} for each in checks],
        "stop_when": [{"check": each.check, "why": each.why} for each in profile.stop_when],
        "caps": profile.caps.model_dump(mode="json"),
        "nodes": list(graph_for(profile).nodes),
    }


def _field(schema: Schema, path: str, spec: FieldSpec) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "path": path,
        "label": spec.label,
        "type": spec.type,
        "unit": spec.unit,
        "required": spec.required,
        "source": spec.source,
        "comes_from": comes_from(schema, path, spec),
    }
    bounds = {"minimum": spec.minimum, "maximum": spec.maximum, "default": spec.default}
    return shown | {name: value for name, value in bounds.items() if value is not None}


def comes_from(schema: Schema, path: str, spec: FieldSpec) -> str:
    """Return where a field comes from, in words."""
    made = schema.compositions.get(path)
    if made is not None:
        return f"composed: {made.formula}"
    if spec.source == "components":
        return "composed of components that the model proposes"
    if path in schema.profile.bootstrap:
        return "your answer, before anything else"
    if spec.source == "user":
        return "your answer" if spec.required else "your answer, where a model asks for it"
    if not spec.required:
        return "documents"
    return "documents, else the default" if spec.default is not None else "documents, else your answer"


def explain_lines(profile: Profile) -> list[Line]:
    """Return the same for people."""
    shown = explain(profile)
    rows = [line(f"{shown['profile']}: {shown['about']}", "bold"), BLANK, line("Fields", "bold")]
    for field in shown["fields"]:
        unit = f" in {field['unit']}" if field["unit"] else ""
        optional = "" if field["required"] else " (optional)"
        rows.append(indented(f"{field['path']}{optional}: {field['label']}{unit}"))
        rows.append(indented(f"from {field['comes_from']}", "dim", columns=6))
    for title, key in (("Calculation", "results"), ("Preconditions", "preconditions"), ("Ends early", "stop_when")):
        if shown[key]:
            rows += [BLANK, line(title, "bold")]
        for each in shown[key]:
            if key == "results":
                rows.append(indented(f"{each['name']} = {each['formula']}  [{each['unit'] or 'a plain number'}]"))
            else:
                rows.append(indented(f"{each['check']}: {each['why']}"))
    caps = shown["caps"]
    most = f"{caps['iterations']} passes, {caps['attempts_per_field']} searches and questions per field"
    return [*rows, BLANK, line(f"At most {most}, {caps['calculations']} calculations.", "dim")]
