"""The nodes and edges are those of the source (S48 to S51) with its gaps closed; a gate is added by a row (S90)."""

import hashlib
import json
from graphlib import TopologicalSorter
from pathlib import Path

from actors.values.flow import NodeState
from packages.acquire.tests.acquisition import states
from packages.acquire.tests.acquisition.stage import Stage, prepared
from packages.acquire.tests.acquisition.states import profile
from replan.setup.installation import data_root
from replan_acquire.acquisition import gates
from replan_acquire.acquisition.graph import END, START, AcquisitionGraph, GraphNode, problems
from replan_acquire.acquisition.machine import AcquisitionMachine
from replan_acquire.acquisition.planner_state import NOTHING, Writes
from replan_acquire.acquisition.profile_check import load_profile
from replan_acquire.acquisition.table import graph_for
from replan_acquire.acquisition.views import graph_mermaid, path_flow
from tests.docs.blocks import ROOT, blocks

MARKET = graph_for(load_profile("market_size").profile)
SOURCE = {
    (START, "enter_iteration"),
    ("enter_iteration", "finish"),
    ("enter_iteration", "prepare_schema"),
    ("prepare_schema", "require_region"),
    ("prepare_schema", "require_currency"),
    ("prepare_schema", "finish"),
    ("prepare_schema", "acquisition_gate"),
    ("require_region", "ask_user"),
    ("require_currency", "ask_user"),
    ("acquisition_gate", "normalize_decision"),
    ("acquisition_gate", "maybe_calculate"),
    ("acquisition_gate", "plan"),
    ("plan", "normalize_decision"),
    ("normalize_decision", "retry_gate"),
    ("retry_gate", "maybe_calculate"),
    ("maybe_calculate", "calculate"),
    ("maybe_calculate", "search"),
    ("maybe_calculate", "ask_user"),
    ("maybe_calculate", "reflect"),
    ("maybe_calculate", "finish"),
    ("search", "observe"),
    ("search", "enter_iteration"),
    ("observe", "enter_iteration"),
    ("calculate", "enter_iteration"),
    ("ask_user", "observe_user"),
    ("observe_user", "enter_iteration"),
    ("reflect", "enter_iteration"),
    ("finish", END),
}
"""The edges of the source's diagram."""
CLOSED = {("require_region", "finish"), ("require_currency", "finish")}
"""The edges that the source lacks: where the attempts for a bootstrap field are used up."""


def test_s48_market_size_has_the_declared_topology():
    assert MARKET.pairs() == SOURCE | CLOSED


def test_s49_every_action_returns_to_enter_iteration_and_finish_ends():
    for node in ("calculate", "reflect", "observe", "observe_user"):
        assert {*MARKET.nodes[node].edges.values()} == {"enter_iteration"}
    assert {*MARKET.nodes["search"].edges.values()} == {"observe", "enter_iteration"}
    assert {*MARKET.nodes["finish"].edges.values()} == {END}


def test_s51_ask_user_leads_to_observe_user_alone():
    assert {*MARKET.nodes["ask_user"].edges.values()} == {"observe_user"}
    assert [name for name, node in MARKET.nodes.items() if node.waits_for == "the user's answer"] == ["ask_user"]


def test_bootstrap_fields_are_data_and_each_has_a_node():
    graph = graph_for(profile(bootstrap=["market.price", "core.currency"]))
    assert [name for name in graph.nodes if name.startswith("require_")] == ["require_price", "require_currency"]
    assert not [name for name in graph_for(profile(bootstrap=[])).nodes if name.startswith("require_")]


def test_the_table_is_sound_and_a_broken_one_is_found():
    for name in ("market_size", "cloud_cost"):
        assert [*problems(graph_for(load_profile(name).profile))] == []
    lost = GraphNode("lost", lambda _: None, {"on": "nowhere"})
    assert [*problems(AcquisitionGraph({**MARKET.nodes, "lost": lost}))] == [
        "lost: the outcome 'on' leads to 'nowhere', which is not a node",
        "lost: no edge leads to this node",
    ]


def test_every_owned_field_is_one_that_writes_can_change():
    names = {name for name in Writes.model_fields if name != "composed"} | {"last_observation"}
    assert {field for node in MARKET.nodes.values() for field in node.owns} == names
    assert Writes() == NOTHING


def test_s89_the_diagram_is_generated_from_the_table_and_the_docs_have_it():
    diagram = graph_mermaid(MARKET)
    arrows = [line.split() for line in diagram.splitlines() if "-->" in line]
    names = {f"node_{name}": name for name in MARKET.nodes} | {"planner_start": START, "planner_end": END}
    assert {(names[words[0]], names[words[-1]]) for words in arrows} == MARKET.pairs()
    page = (Path(data_root()) / "docs" / "reference" / "acquisition.md").read_text(encoding="utf-8")
    assert f"```mermaid\n{diagram}```" in page


def test_the_diagram_of_a_run_marks_the_nodes_that_it_visited():
    diagram = graph_mermaid(MARKET, [(START, "enter_iteration"), ("enter_iteration", "finish")])
    assert "class planner_start,node_enter_iteration,node_finish visited" in diagram


PAGE = ROOT / "docs" / "how-to" / "add-a-gate.md"
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


class Nowhere:
    """The result of a run that has left no node yet."""

    path = ()
    status = "running"


def test_the_graph_of_an_acquisition_leads_forwards_and_only_loops_back():
    drawn = path_flow(states.state("search"), Nowhere())
    before = {
        node.id: [edge.begin for edge in drawn.edges if edge.end == node.id and not edge.back] for node in drawn.nodes
    }
    assert {*TopologicalSorter(before).static_order()} == {*before}  # A cycle of other edges raises CycleError.
    assert {edge.end for edge in drawn.edges if edge.back} == {"enter_iteration"}
    assert [node.id for node in drawn.nodes if node.state is NodeState.CURRENT] == ["search"]


def test_the_graph_of_a_profile_is_that_of_its_runs_from_a_name_or_a_file(replan, tmp_path):
    page = (data_root() / "docs" / "reference" / "acquisition.md").read_text("utf-8")
    drawn = replan("workflow", "graph", "market_size").stdout
    assert f"```mermaid\n{drawn}```" in page
    profile = tmp_path / "mine.yaml"
    profile.write_text(
        (data_root("replan_acquire") / "configs" / "acquisition" / "market_size.yaml").read_text("utf-8"), "utf-8"
    )
    assert replan("workflow", "graph", profile).stdout == drawn
    assert json.loads(replan("workflow", "graph", "market_size", "--json").stdout)["workflow"] == "market_size"
