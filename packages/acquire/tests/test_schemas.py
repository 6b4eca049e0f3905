"""The committed JSON Schema of profiles is current, and it accepts the shipped profiles."""

import json

import jsonschema
import pytest
import yaml

from replan.setup.config_schemas import schema_text
from replan.setup.installation import data_root
from replan_acquire.schemas import SCHEMAS

CONFIGS = data_root("replan_acquire") / "configs"


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_committed_schema_is_current(kind):
    """After a change to a model: `make docs`."""
    assert (CONFIGS / "schemas" / f"{kind}.schema.json").read_text() == schema_text(SCHEMAS[kind])


@pytest.mark.parametrize("path", sorted((CONFIGS / "acquisition").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_profile_names_its_schema_and_fits_it(path):
    named = path.read_text().splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    schema = CONFIGS / "schemas" / "acquisition.schema.json"
    assert (path.parent / named).resolve() == schema
    jsonschema.Draft202012Validator(json.loads(schema.read_text())).validate(yaml.safe_load(path.read_text()))
