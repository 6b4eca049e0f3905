"""The committed JSON Schemas are current, and they accept the shipped files."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from replan.setup.config_schemas import SCHEMAS, schema_text, write_schemas

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "config": [ROOT / "configs" / "starter" / "config.yaml"],
    "tools": sorted((ROOT / "configs" / "examples").glob("*/tools.yaml")),
    "policy": sorted((ROOT / "configs" / "policies").glob("*.yaml")),
    "workflow": sorted((ROOT / "configs" / "workflows").glob("*.yaml")),
    "prompts": sorted((ROOT / "prompts").glob("*.yaml")),
}
SHIPPED = [(kind, path) for kind, paths in FILES.items() for path in paths]


def validator(kind):
    schema = json.loads((ROOT / "configs" / "schemas" / f"{kind}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("kind", sorted(SCHEMAS.keys() - {"config"}))
def test_the_committed_schema_is_current(kind):
    """After a change to a model: `python -m replan.setup.config_schemas configs/schemas`.

    That of `config` has the keys of installed packages; tests/docs compares it.
    """
    assert (ROOT / "configs" / "schemas" / f"{kind}.schema.json").read_text() == schema_text(SCHEMAS[kind])


@pytest.mark.parametrize(("kind", "path"), SHIPPED, ids=[f"{path.parent.name}-{path.stem}" for _, path in SHIPPED])
def test_a_shipped_file_names_its_schema_and_fits_it(kind, path):
    first = path.read_text().splitlines()[0]
    named = first.removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / named).resolve() == ROOT / "configs" / "schemas" / f"{kind}.schema.json"
    validator(kind).validate(yaml.safe_load(path.read_text()))


def entry(**change):
    texts = dict.fromkeys(("role", "constraints", "task"), "x") | dict.fromkeys(
        ("feedback_wrapper", "escalation_feedback_wrapper"), "{feedback}"
    )
    return {key: value for key, value in (texts | change).items() if value is not None}


def test_the_schema_rejects_a_prompt_without_either_wrapper():
    """S101."""
    check = validator("prompts")
    assert check.is_valid({"g_plan": entry()})
    assert not check.is_valid({"g_plan": entry(feedback_wrapper=None)})
    assert not check.is_valid({"g_plan": entry(escalation_feedback_wrapper=None)})
    assert not check.is_valid({"g_plan": entry(feedback_wrapper="no slot")})


def test_the_schema_rejects_what_the_loader_rejects():
    check = validator("workflow")
    pair = {"generator": "g", "guard": "h"}
    assert check.is_valid({"name": "w", "action_pairs": {"a": pair}})
    for wrong in (
        {"name": "w"},
        {"name": "w", "action_pairs": {"A": pair}},
        {"name": "w", "action_pairs": {"a": {"generator": "g"}}},
        {"name": "w", "action_pairs": {"a": pair | {"requries": []}}},
        {"name": "w", "action_pairs": {"a": pair}, "rmax": 0},
        {"name": "w", "action_pairs": {"a": pair}, "search": "depth-first"},
    ):
        assert not check.is_valid(wrong)


@pytest.mark.parametrize("model", ["Workflow", "ActionPair", "PromptEntry", "Sections"])
def test_every_key_is_described_for_editors(model):
    for kind in SCHEMAS:
        schema = json.loads(schema_text(SCHEMAS[kind]))
        definition = schema if schema.get("title") == model else schema.get("$defs", {}).get(model)
        for key, value in (definition or {"properties": {}})["properties"].items():
            assert value.get("description"), f"{model}.{key}"


def test_schemas_are_written_for_any_model(tmp_path):
    write_schemas(tmp_path, {"one": SCHEMAS["workflow"]})
    assert (tmp_path / "one.schema.json").read_text() == schema_text(SCHEMAS["workflow"])
