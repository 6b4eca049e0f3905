"""The typed plan of an execution is a value: its text decides what it equals."""

import json

from actors.execution.config import ReadyPlan
from tests.execution.stage import plan, step


def test_plans_with_the_same_text_are_one_key():
    text = json.dumps(plan(step("a", "start", "goal")))
    assert len({ReadyPlan(text), ReadyPlan(text), ReadyPlan(f" {text}")}) == 2
