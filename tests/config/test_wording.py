"""Error messages about a file use its author's terms, not those of pydantic or Python."""

import json
import re

import pytest
from pydantic import ValidationError

from actors.files.validation_errors import PATTERN_MEANINGS, usage_problem
from actors.files.yaml_document import parse_document
from actors.policy.table import Policy
from actors.templates.template_files import PlanTemplate
from replan.setup.config_schemas import SCHEMAS

ROW = "{id: rest, why: because, level: local_retry}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: p\nrows: []\n", "p.yaml:2 rows: needs at least one entry"),
        (f"name: p\nrows: [{', '.join([ROW] * 101)}]\n", "p.yaml:2 rows: takes at most 100 entries"),
        ("name: p\nrows: 3\n", "p.yaml:2 rows: should be a list, not 3"),
        ("name: p\nrows: [3]\n", "p.yaml:2 rows[0]: should be a mapping of keys to values, not 3"),
        (f"name: ''\nrows: [{ROW}]\n", "p.yaml:1 name: should not be empty"),
        (f"name: {'p' * 201}\nrows: [{ROW}]\n", "p.yaml:1 name: takes at most 200 characters"),
        (
            f"name: p\nrows: [{ROW.replace('rest', 'The Rest')}]\n",
            (
                "p.yaml:2 rows[0].id: should be lower-case letters, digits and underscores, 40 characters at most, "
                "not 'The Rest'"
            ),
        ),
        (
            f"name: p\nrows: [{ROW[:-1]}, codes: [plan]}}]\n",
            (
                "p.yaml:2 rows[0].codes[0]: should be a finding code such as plan.unreachable, or a family such as "
                "plan.*, not 'plan'"
            ),
        ),
        (
            f"name: p\nrows: [{ROW[:-1]}, backoff_seconds: 601}}]\n",
            "p.yaml:2 rows[0].backoff_seconds: should be at most 600, not 601",
        ),
        (
            f"name: p\nrows: [{ROW[:-1]}, fatal: 'maybe'}}]\n",
            "p.yaml:2 rows[0].fatal: should be true or false, not 'maybe'",
        ),
    ],
)
def test_each_kind_of_error_has_a_plain_message(text, message):
    document = parse_document(text, "p.yaml")
    with pytest.raises(ValidationError) as caught:
        Policy.model_validate(document.value)
    assert str(usage_problem(caught.value, document)) == message


def test_every_pattern_has_a_meaning_in_words():
    """Except the pattern of a prompt's slot, which has its own check."""
    schemas = json.dumps([model.model_json_schema() for model in (*SCHEMAS.values(), PlanTemplate)])
    patterns = {json.loads(f'"{pattern}"') for pattern in re.findall(r'"pattern": "(.*?)"[,}]', schemas)}
    patterns |= {json.loads(f'"{pattern}"') for pattern in re.findall(r'"patternProperties": {"(.*?)": ', schemas)}
    assert patterns - {r"\{feedback\}"} == PATTERN_MEANINGS.keys()
