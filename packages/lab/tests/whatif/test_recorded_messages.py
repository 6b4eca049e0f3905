"""A recorded end of a tool's call is made into the message that it came from, with all that it says."""

from actors.run.tools import OpenTool, ToolCost, ToolFinished, ToolOutcome, ToolRequested, accept
from replan_lab.whatif.recorded_messages import message_of
from replan_lab.whatif.recorded_run import PlacedEvent

REQUEST = ToolRequested(node="a", tool="coder", arguments="{}", repeatable=False, timeout_seconds=1.0)


def test_the_end_of_a_call_is_accepted_anew_as_it_was_recorded():
    cost = ToolCost(micro_usd=5, input_tokens=1, output_tokens=2, turns=3, session="s")
    event = ToolFinished(
        request_id=REQUEST.request_id,
        at=3.0,
        mono=1.0,
        elapsed=2.0,
        outcome=ToolOutcome.FAILED,
        output="out",
        reason="why",
        cost=cost,
    )
    message = message_of(None, None, PlacedEvent(2, event, None, ends=True), {}, {})
    assert accept({REQUEST.request_id: OpenTool(REQUEST, 1)}, message) == event
