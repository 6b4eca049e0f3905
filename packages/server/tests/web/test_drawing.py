"""Graphs as drawings."""

from actors.plans.plan_flow import plan_flow
from actors.values.flow import Flow, FlowEdge, FlowNode
from replan_server.web.drawing import NODES_MAX, draw
from tests.cli.samples import PLAN
from tests.plans.test_outcomes import BOTH, step
from tests.plans.test_outcomes import plan as with_outcomes


def flow(count, *edges):
    return Flow(
        tuple(FlowNode(str(n), f"node {n}") for n in range(count)), tuple(FlowEdge(*map(str, e)) for e in edges)
    )


def test_a_node_lies_below_all_nodes_before_it():
    drawing = draw(flow(4, (0, 1), (1, 2), (0, 2), (2, 3)))
    below = [box.y for box in drawing.boxes]
    assert below == sorted(set(below))
    assert not drawing.path


def test_neighbours_do_not_overlap_and_all_boxes_are_inside():
    drawing = draw(flow(6, *((0, n) for n in range(1, 6))))
    places = {(box.x, box.y) for box in drawing.boxes}
    assert len(places) == 6
    assert all(0 <= box.x <= drawing.width - 190 and 0 <= box.y <= drawing.height - box.height for box in drawing.boxes)


def test_an_edge_back_is_drawn_and_does_not_move_nodes():
    nodes = flow(3, (0, 1), (1, 2))
    back = Flow(nodes.nodes, (*nodes.edges, FlowEdge("2", "0", back=True, taken=True)))
    assert [(box.x, box.y) for box in draw(back).boxes] == [(box.x, box.y) for box in draw(nodes).boxes]
    assert draw(back).arrows[-1].style == "taken"
    assert draw(back).width > draw(nodes).width


def test_a_step_that_only_a_failure_makes_necessary_has_one_arrow_from_it():
    nodes = (FlowNode("a", "a"), FlowNode("b", "b", contingent=True), FlowNode("c", "c"))
    both = [FlowEdge("a", end, recovery=recovery) for end in "bc" for recovery in (False, True)]
    assert sorted(arrow.style for arrow in draw(Flow(nodes, tuple(both))).arrows) == ["", "recovery", "recovery"]


def test_a_cycle_that_should_not_be_is_drawn_all_the_same():
    assert len(draw(flow(3, (0, 1), (1, 2), (2, 0))).boxes) == 3


def test_nothing_and_too_much_are_not_drawn():
    assert draw(None) is None
    assert draw(flow(0)) is None
    assert draw(flow(NODES_MAX + 1)) is None
    assert draw(flow(NODES_MAX)) is not None


def test_a_long_or_evil_name_is_wrapped_and_cleaned():
    drawing = draw(Flow((FlowNode("x", f"\u202e{'a' * 100}\n<b>"),), ()))
    assert all(len(line) <= 23 for line in drawing.boxes[0].name)
    assert "".join(drawing.boxes[0].name).replace(" ", "") == "a" * 100 + "<b>"  # All of it is there, in lines.
    assert "\u202e" not in drawing.boxes[0].title
    assert "\n" not in drawing.boxes[0].title


def test_tokens_that_lead_round_in_a_circle_are_drawn_back():
    again = {**step("again", "is_red", "start"), "delete_effects": ["is_red"]}
    drawn = plan_flow(with_outcomes(again, *BOTH))
    assert {(edge.begin, edge.end) for edge in drawn.edges if edge.back} == {("again", "look")} or {
        (edge.begin, edge.end) for edge in drawn.edges if edge.back
    } == {("look", "again")}
    assert len(draw(drawn).boxes) == 4


def test_outcomes_stand_side_by_side_below_their_box_and_their_arrows_begin_there():
    drawing = draw(plan_flow(with_outcomes(*BOTH)))
    box = drawing.boxes[0]
    assert {label.text for label in drawing.labels} == {"red", "black"}
    assert all(box.x < label.x < box.x + 190 and label.y > box.y + box.height for label in drawing.labels)
    begins = {arrow.title: int(arrow.path[1:].partition(",")[0]) for arrow in drawing.arrows if arrow.title}
    assert begins == {label.text: label.x for label in drawing.labels}
    assert not draw(plan_flow(PLAN)).labels


def test_a_long_outcome_is_cut_to_its_place_and_whole_in_its_title():
    name = "x" * 60
    value = with_outcomes(*BOTH)
    value["steps"][0] = {
        **value["steps"][0],
        "outcomes": [{"name": name, "effects": ["is_red", "is_black"]}, {"name": "b"}],
    }
    drawing = draw(plan_flow(value))
    assert all(len(label.text) * 7 <= 190 for label in drawing.labels)
    assert {arrow.title for arrow in drawing.arrows if arrow.title} == {name}
