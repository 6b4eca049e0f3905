"""The committed JSON Schema of profiles is current, and the shipped files fit the schemas that they name."""

import json

import jsonschema
import pytest
import yaml

from replan.setup.config_schemas import schema_text
from replan.setup.installation import data_root
from replan_acquire.schemas import SCHEMAS

ROOT = data_root("replan_acquire")
CONFIGS = ROOT / "configs"
SHIPPED = {
    CONFIGS / "schemas" / "acquisition.schema.json": (CONFIGS / "acquisition").glob("*.yaml"),
    data_root() / "configs" / "schemas" / "workflow.schema.json": (CONFIGS / "proposals").glob("*.yaml"),
    data_root() / "configs" / "schemas" / "prompts.schema.json": (ROOT / "prompts").glob("*.yaml"),
}
"""The shipped files by their schema."""
FILES = [(schema, path) for schema, paths in SHIPPED.items() for path in sorted(paths)]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_committed_schema_is_current(kind):
    """After a change to a model: `make docs`."""
    assert (CONFIGS / "schemas" / f"{kind}.schema.json").read_text() == schema_text(SCHEMAS[kind])


@pytest.mark.parametrize(("schema", "path"), FILES, ids=[path.stem for _, path in FILES])
def test_a_shipped_file_names_its_schema_and_fits_it(schema, path):
    named = path.read_text().splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / named).resolve() == schema
    jsonschema.Draft202012Validator(json.loads(schema.read_text())).validate(yaml.safe_load(path.read_text()))


def test_each_kind_of_file_is_shipped():
    assert {schema for schema, _ in FILES} == set(SHIPPED)
