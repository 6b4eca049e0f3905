"""The schemas of files and of the HTTP API, and what their patterns mean, for all packages together."""

import json
import re

import replan_acquire.schemas
import replan_lab.schemas
from actors.files.validation_errors import PATTERN_MEANINGS
from actors.templates.template_files import PlanTemplate
from replan.setup.config_schemas import SCHEMAS, schema_text
from replan.setup.settings import SETTINGS, UserConfig, config_model
from replan_server.web.api_routes import openapi_text
from tests.docs.blocks import ROOT


def test_the_committed_schema_of_the_config_file_has_the_keys_of_all_packages():
    path = ROOT / "configs" / "schemas" / "config.schema.json"
    assert path.read_text(encoding="utf-8") == schema_text(UserConfig)
    assert {"search", "webhooks", "clients"} <= config_model(SETTINGS.names).model_fields.keys()


def test_the_published_description_of_the_http_api_is_the_generated_one():
    """Run `make docs` after a change of the API."""
    assert (ROOT / "docs" / "reference" / "openapi.json").read_text(encoding="utf-8") == openapi_text()


def test_every_pattern_has_a_meaning_in_words():
    """Except the pattern of a prompt's slot, which has its own check."""
    others = [*replan_acquire.schemas.SCHEMAS.values(), *replan_lab.schemas.SCHEMAS.values()]
    models = [*SCHEMAS.values(), PlanTemplate, config_model(SETTINGS.names), *others]
    schemas = json.dumps([model.model_json_schema() for model in models])
    patterns = {json.loads(f'"{pattern}"') for pattern in re.findall(r'"pattern": "(.*?)"[,}]', schemas)}
    patterns |= {json.loads(f'"{pattern}"') for pattern in re.findall(r'"patternProperties": {"(.*?)": ', schemas)}
    assert patterns - {r"\{feedback\}"} == PATTERN_MEANINGS.keys()
