"""Policies as files: what is accepted, and the message for each error, one line with its position."""

from pathlib import Path

import pytest

from actors.config.loader import load_policy
from replan.setup.installation import data_root
from runtime.core.errors import UsageProblem

GOOD = """name: mine
rows:
  - id: facts
    why: because
    codes: [plan.*]
    level: partial_replan
    target: role recon or up 2
  - id: rest
    why: because
    level: local_retry
"""

BAD = {
    "unknown key 'levl' (did you mean 'level'?)": ("level: partial_replan", "levl: partial_replan", 6),
    "missing key 'why'": ("    why: because\n    codes", "    codes", 3),
    "row id 'facts' is used twice": ("id: rest", "id: facts", 8),
    "the last row must match everything": ("    level: local_retry\n", "    level: local_retry\n    fatal: true\n", 8),
    "row 'facts' matches everything": ("    codes: [plan.*]\n", "", 3),
    "a replan must have a target other than self": ("    target: role recon or up 2\n", "", 3),
    "the level local_retry must have the target self": ("level: partial_replan", "level: local_retry", 7),
    "'clarify' or 'give_up', not 'partial_repan'": ("partial_replan", "partial_repan", 6),
    "not 'up 12'": ("role recon or up 2", "up 12", 7),
    "not 'plan'": ("plan.*", "plan", 5),
}


def test_the_shipped_policy_loads_by_its_name():
    assert load_policy("default", data_root()).name == "default"


def test_an_unknown_name_gets_the_nearest_name_as_a_hint():
    with pytest.raises(UsageProblem, match=r"unknown policy 'defalt' \(did you mean 'default'\?\)"):
        load_policy("defalt", data_root())


def test_a_path_loads_a_policy_of_the_users_own(tmp_path):
    (tmp_path / "mine.yaml").write_text(GOOD)
    assert [row.id for row in load_policy(str(tmp_path / "mine.yaml"), data_root()).rows] == ["facts", "rest"]


def test_a_missing_file_is_one_line():
    with pytest.raises(UsageProblem, match=r"nowhere\.yaml: no such file"):
        load_policy("nowhere.yaml", Path())


@pytest.mark.parametrize("message", BAD)
def test_an_error_is_reported_with_its_line(tmp_path, message):
    old, new, line = BAD[message]
    assert old in GOOD
    (tmp_path / "mine.yaml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(UsageProblem) as problem:
        load_policy(str(tmp_path / "mine.yaml"), data_root())
    assert message in str(problem.value)
    assert f"mine.yaml:{line} " in str(problem.value)
    assert "\n" not in str(problem.value)
