"""A stored run of the first release of this kind is read by every later one (S85)."""

import dataclasses
import json
from pathlib import Path

from actors.acquisition.kind import CODEC
from actors.acquisition.machine import AcquisitionMachine
from actors.acquisition.planner_state import PlannerState, Writes
from runtime.core.machine import fold

STORED = Path(__file__).parent / "stored_run.jsonl"
"""The events of a run as a journal holds them, each with its texts: never written again."""


def stored_events():
    lines = [json.loads(line) for line in STORED.read_text(encoding="utf-8").splitlines()]
    return [CODEC.decode(json.dumps(line["body"]).encode(), line["texts"]) for line in lines]


def test_s85_a_stored_run_folds_to_the_same_result():
    state = fold(AcquisitionMachine(), stored_events())
    assert state.run.finished.outcome == "success"
    assert [step.name for step in state.planner.calculation.steps] == ["tam", "sam", "som"]
    assert state.planner.values["market.customers"][0].quote == "Portugal has 120,500.0 buildings"


def test_s85_every_field_of_the_state_and_of_its_changes_has_a_default():
    for each in dataclasses.fields(PlannerState):
        has_default = each.default is not dataclasses.MISSING or each.default_factory is not dataclasses.MISSING
        assert has_default, each.name
    assert Writes() == Writes.model_validate({})
