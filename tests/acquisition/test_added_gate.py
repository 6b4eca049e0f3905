"""A gate is added by a row of the table and one function, and not by editing the node of the model (S90)."""

import hashlib
from pathlib import Path

from actors.acquisition import gates
from actors.acquisition.graph import problems
from actors.acquisition.machine import AcquisitionMachine
from actors.acquisition.table import graph_for
from actors.acquisition.views import graph_mermaid
from tests.acquisition.stage import Stage, prepared
from tests.acquisition.states import profile
from tests.docs.blocks import ROOT, blocks

PAGE = ROOT / "docs" / "explanation" / "add-a-gate.md"
GIVEN = {"core.region": "Portugal", "core.currency": "EUR", "market.annual_spend": "5", "segment.share": "30 %"}


def from_the_page():
    """Return what the page's code defines."""
    [code] = [block.body for block in blocks(PAGE) if block.language == "python"]
    names = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names


def second_search(machine):
    stage = Stage(prepared(given=GIVEN), machine)
    stage.plan("search", "market.customers", query="buildings")
    stage.found(("a.md", "There are 100.5 buildings."))
    stage.observed(("market.customers", "100.5", "", "There are 100.5 buildings", "a.md"))
    stage.plan("search", "market.customers", query="another source")
    return stage


def test_s90_the_gate_of_the_page_is_a_row_and_a_function_and_runs():
    model_node = hashlib.sha256(Path(gates.__file__).read_bytes()).digest()
    table = from_the_page()["table"]
    before, after = graph_for(profile()), table(profile())
    assert {*after.nodes} - {*before.nodes} == {"certainty_gate"}
    changed = [name for name in before.nodes if before.nodes[name] != after.nodes[name]]
    assert changed == ["retry_gate"]
    assert after.nodes["plan"] is before.nodes["plan"]
    assert [*problems(after)] == []
    assert "certainty_gate" in graph_mermaid(after)
    assert second_search(None).state.node == "search"
    stage = second_search(AcquisitionMachine(table))
    assert "certainty_gate:rewritten" in stage.hops
    assert (stage.state.node, stage.planner.decision.target_field) == ("ask_user", "segment.win_rate")
    assert hashlib.sha256(Path(gates.__file__).read_bytes()).digest() == model_node
