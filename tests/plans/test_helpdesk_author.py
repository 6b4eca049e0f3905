"""The scripted author of the helpdesk benchmark: its mistakes are found, and its last plan is proved for its tools."""

import importlib.util
import json
from pathlib import Path

import jsonschema
import pytest

from actors.plans.mending import set_given_facts, unread_findings
from actors.plans.reader import plan_schema, read_plan
from actors.tools.loader import load_tools
from actors.values.given import Given
from tests.plans.build import judge

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "helpdesk"
TOOLS = load_tools(FOLDER / "tools.yaml", workspace=Path("/nowhere"), environment={}).toolset
GIVEN = Given(**TOOLS.names_given)


def author():
    spec = importlib.util.spec_from_file_location("helpdesk_author", FOLDER / "author.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = author().replies(json.loads((FOLDER / "plan.json").read_text(encoding="utf-8")))
MISREAD, INCOMPLETE, WHOLE = SCRIPT["g_plan"]


def errors(plan):
    """Return the codes of the errors about results and of the strongest guard, with their places."""
    given = set_given_facts(plan, GIVEN)[0]
    found = [*unread_findings(given, GIVEN), *judge("expansive", given).findings]
    return {(finding.code, finding.where) for finding in found if finding.severity == "error"}


@pytest.mark.parametrize("plan", SCRIPT["g_plan"])
def test_each_plan_fits_the_schema_for_models(plan):
    jsonschema.validate(plan, plan_schema())


def test_the_last_plan_is_proved_and_its_tools_tell_all_that_it_expects():
    assert errors(WHOLE) == set()
    assert TOOLS.unbound(read_plan(set_given_facts(WHOLE, GIVEN)[0])[0]) == ()


def test_the_mistakes_of_the_others_are_found():
    assert errors(MISREAD) == {("plan.unbound", "check_sim"), ("plan.unbound", "resume_line")}
    assert errors(INCOMPLETE) == {("plan.failure_unreachable", "check_speed_3"), ("plan.dead_end", "check_vpn")}
