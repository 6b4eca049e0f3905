"""What coding agents read is true: the file for those who change the program, and the skills for those who use it.

Other tests follow the commands of the skills from an empty folder.
"""

import re

import pytest
import yaml

from tests.docs.blocks import ROOT, has_fence

AGENTS = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
SKILLS = sorted((ROOT / "skills").glob("*/SKILL.md"))


def test_the_file_for_agents_is_short_and_names_only_what_is_there():
    assert len(AGENTS.splitlines()) <= 60
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", AGENTS)) - {"it"} <= targets
    paths = re.findall(r"`([\w.]+/[\w./]*)`|\]\(([\w./-]+)\)", AGENTS)
    named = {first or second for first, second in paths}
    assert len(named) > 8
    assert {path for path in named if not (ROOT / path).exists()} == set()


@pytest.mark.parametrize("skill", SKILLS, ids=lambda skill: skill.parent.name)
def test_a_skill_has_the_fields_that_agents_look_for_and_commands_that_can_be_tried(skill):
    """The format of agentskills.io: the name is that of the folder, and the description says when to use it."""
    _, front, body = skill.read_text(encoding="utf-8").split("---\n", 2)
    fields = yaml.safe_load(front)
    assert fields.keys() == {"name", "description"}
    assert fields["name"] == skill.parent.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"])
    assert len(fields["description"]) <= 1024
    assert "Use when" in fields["description"]
    assert body.count("\n") < 500
    assert has_fence(skill, "sh")


def test_there_is_a_skill_for_a_workflow_a_guard_and_a_tools_file():
    assert [skill.parent.name for skill in SKILLS] == ["replan-guard", "replan-tools", "replan-workflow"]
