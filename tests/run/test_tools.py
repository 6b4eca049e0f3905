"""Calls of tools: recorded before they begin, never repeated by themselves where that could do harm."""

from typing import get_args

import pytest

from actors.run import tools
from actors.run.ending import RunFinished
from actors.run.evolve import evolve_run
from actors.run.fork_event import Forked, MadeCall
from actors.run.machine import accept_control
from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED
from actors.run.result import status_row
from actors.run.rules import take_over_tools
from actors.run.state import RunState
from actors.run.tools import Begun, Checked, Ended, ToolEvent, ToolOutcome, ToolRequested
from runtime.core.events import Codec
from runtime.core.ledger import Limits
from runtime.core.machine import settle
from runtime.core.messages import Mailed, Parking, Resumed

PROCESS = "host/1/77/boot.5"


class Toy:
    """A machine of the common part alone, as far as `settle` needs one."""

    def evolve(self, state, event):
        return evolve_run(state, event)

    def advance(self, state):
        return tools.end(state.tools, state.epoch, state.now) if state.finished else take_over_tools(state)


class Story:
    """A run that calls one tool; it keeps the kinds of the events that follow from each message."""

    def __init__(self, *, repeatable=False):
        self.state = RunState(run_id="r", epoch=1)
        self.kinds = []
        self.request = ToolRequested(
            node="pay", tool="bank", arguments='{"sum": 5}', repeatable=repeatable, timeout_seconds=60.0
        )
        self._step(self.request)

    def _step(self, event):
        self.state, events = settle(Toy(), self.state, event)
        self.kinds = [event.kind for event in events]
        self.events = events
        return self.kinds

    def hear(self, message):
        accept = tools.accept if isinstance(message, Begun | Ended | Checked) else None
        event = accept(self.state.tools, message) if accept else accept_control(self.state, message)
        return [] if event is None else self._step(event)

    def crash(self, epoch=2):
        return self.hear(Resumed(epoch, 10.0))

    @property
    def work(self):
        return tools.work_of(self.state.tools, self.state.epoch)

    @property
    def outcome(self):
        [finished] = [event for event in self.events if event.kind == "tool_finished"]
        return finished.outcome


def begun(request_id="tool:pay", process=PROCESS):
    return Begun(request_id, 1.0, process)


def ended(request_id="tool:pay", outcome=ToolOutcome.SUCCEEDED):
    return Ended(request_id, 2.0, 1.0, outcome, "receipt 7")


def answer(text):
    body = f'{{"kind": "answer", "question": "q1", "answer": "{text}"}}'
    return Mailed(1, "answer:q1", body, 20.0)


def killed(process=PROCESS, **fields):
    """Return a run whose driver was killed during the call, and which another one has taken over."""
    story = Story(**fields)
    story.hear(begun(process=process))
    story.crash()
    return story


def test_a_call_is_requested_started_and_finished():
    story = Story()
    [work] = story.work.values()
    assert (work.request_id, work.address, work.repeatable) == ("tool:pay", "tool:bank", False)
    assert story.hear(begun()) == ["tool_started"]
    assert story.hear(ended()) == ["tool_finished"]
    assert story.events[0].output == "receipt 7"
    assert story.state.tools == {}


def test_messages_that_come_twice_or_for_no_call_are_duplicates():
    story = Story()
    story.hear(begun())
    assert story.hear(begun()) == []
    story.hear(ended())
    assert story.hear(ended()) == []
    assert story.hear(Checked("check:tool:pay", 3.0, certain=True)) == []


@pytest.mark.parametrize("repeatable", [True, False])
def test_a_call_that_was_never_recorded_as_started_is_made_again_since_it_has_done_nothing(repeatable):
    story = Story(repeatable=repeatable)
    assert story.crash() == ["run_resumed", "tool_reissued"]
    assert list(story.work) == ["tool:pay.t2"]


def test_the_process_of_an_earlier_driver_is_ended_before_anything_else():
    story = Story(repeatable=True)
    story.hear(begun())
    assert story.crash() == ["run_resumed", "tool_check_requested"]
    [work] = story.work.values()
    assert (work.address, work.request.process, work.repeatable) == ("tool:bank", PROCESS, True)
    assert story.hear(Checked("check:tool:pay", 11.0, certain=True)) == ["tool_process_ended", "tool_reissued"]


@pytest.mark.parametrize("process", [PROCESS, ""])
@pytest.mark.parametrize(
    ("text", "outcome"), [(SUCCEEDED, ToolOutcome.SUCCEEDED), (FAILED, ToolOutcome.FAILED), (NOT_RUN, None)]
)
def test_a_call_with_an_unknown_outcome_is_a_question_to_a_person_and_never_repeated_by_itself(process, text, outcome):
    story = Story()
    story.hear(begun(process=process))
    kinds = story.crash()
    if process:
        assert list(story.work) == ["check:tool:pay"]
        kinds += story.hear(Checked("check:tool:pay", 11.0, certain=True))
    assert kinds[-1] == "clarification_requested"
    assert story.work == {}
    assert story.hear(answer("perhaps")) == ["mail_refused"]
    kinds = story.hear(answer(text))
    if outcome is None:
        assert kinds == ["clarification_answered", "tool_reissued"]
        assert list(story.work) == ["tool:pay.t2"]
    else:
        assert kinds == ["clarification_answered", "tool_finished"]
        assert story.outcome is outcome


def test_a_declined_question_leaves_the_outcome_unknown():
    story = killed(process="")
    body = '{"kind": "decline", "question": "q1"}'
    assert story.hear(Mailed(1, "answer:q1", body, 20.0)) == ["clarification_declined", "tool_finished"]
    assert story.outcome is ToolOutcome.UNKNOWN


def test_a_repeatable_tool_is_not_called_again_while_its_process_may_still_run():
    """It was started on another machine, which cannot be seen from here: a person has to look."""
    story = killed(repeatable=True)
    kinds = story.hear(Checked("check:tool:pay", 11.0, certain=False))
    assert kinds == ["tool_process_ended", "clarification_requested"]
    assert "may still be running" in story.events[-1].about


def test_a_second_crash_while_the_process_is_being_ended_only_asks_again_for_that():
    story = killed()
    assert story.crash(epoch=3) == ["run_resumed"]
    assert list(story.work) == ["check:tool:pay"]


def test_a_parked_run_takes_nothing_over():
    story = Story()
    story.hear(begun())
    story.hear(Parking(3.0))
    assert story.kinds == ["run_parked"]
    assert story.hear(ended()) == ["tool_finished"]


def test_only_repeatable_calls_are_withdrawn():
    assert tools.withdraw_calls(Story().state.tools, ["pay"]) != {}
    assert tools.withdraw_calls(Story(repeatable=True).state.tools, ["pay"]) == {}


def test_nobody_waits_for_a_tool_of_a_run_that_has_ended():
    story = Story()
    story._step(RunFinished(outcome="cancelled", why="cancelled by the user", at=3.0))
    assert story.work == {}
    assert story.hear(ended()) == []


def end(story):
    return story.hear(Mailed(1, "cancel", '{"kind": "cancel"}', 3.0))


def test_an_end_from_outside_waits_for_a_tool_that_is_not_repeatable():
    story = Story()
    story.hear(begun())
    assert end(story) == ["run_finished"]
    assert list(story.work) == ["tool:pay"]
    assert not story.state.over
    assert status_row(story.state, [], working=False).status == "running"
    assert story.hear(ended()) == ["tool_finished"]
    assert story.events[0].output == "receipt 7"
    assert story.state.over
    assert status_row(story.state, [], working=False).status == "finished"


def test_an_end_from_outside_ends_a_tool_that_is_repeatable():
    story = Story(repeatable=True)
    story.hear(begun())
    assert end(story) == ["run_finished", "tool_check_requested"]
    assert list(story.work) == ["check:tool:pay"]
    kinds = story.hear(Checked("check:tool:pay", 11.0, certain=True))
    assert kinds == ["tool_process_ended", "tool_finished"]
    assert story.outcome is ToolOutcome.UNKNOWN
    assert story.state.over


def test_an_end_from_outside_ends_at_once_where_a_repeatable_tool_has_no_process_or_none_has_begun():
    story = Story(repeatable=True)
    story.hear(begun(process=""))
    assert end(story) == ["run_finished", "tool_finished"]
    assert story.state.over
    story = Story()
    assert end(story) == ["run_finished"]
    assert story.state.over


def test_an_end_from_outside_ends_the_process_of_a_killed_driver_first():
    """The next driver finds the run's end recorded, and nothing is asked of people any more."""
    story = killed()
    assert end(story) == ["run_finished"]
    assert list(story.work) == ["check:tool:pay"]
    assert story.crash(epoch=3) == ["run_resumed"]
    kinds = story.hear(Checked("check:tool:pay", 11.0, certain=False))
    assert kinds == ["tool_process_ended", "tool_finished"]
    assert story.outcome is ToolOutcome.UNKNOWN
    assert "may still be running" in story.events[-1].reason


def test_a_crash_after_the_end_while_a_tool_works_leaves_nothing_of_the_tool():
    story = Story()
    story.hear(begun())
    end(story)
    assert story.crash() == ["run_resumed", "tool_check_requested"]
    kinds = story.hear(Checked("check:tool:pay", 11.0, certain=True))
    assert kinds == ["tool_process_ended", "tool_finished"]
    assert story.state.over
    assert story.crash(epoch=3) == []


def test_a_person_who_was_asked_about_a_tool_need_not_answer_after_the_end():
    story = killed(process="")
    assert end(story) == ["run_finished", "tool_finished"]
    assert story.outcome is ToolOutcome.UNKNOWN
    assert story.state.over


def test_every_event_of_tools_is_written_and_read_back():
    codec = Codec(get_args(ToolEvent))
    story, events = Story(), []
    events += [story.request]
    story.hear(begun())
    events += story.events
    story.crash()
    events += story.events[1:]
    story.hear(Checked("check:tool:pay", 11.0, certain=True))
    events += story.events[:1]
    story.hear(answer(NOT_RUN))
    events += story.events[1:]
    story.hear(ended("tool:pay.t2"))
    events += story.events
    assert {type(event) for event in events} == set(get_args(ToolEvent))
    for event in events:
        stored = codec.encode(event)
        assert codec.decode(stored.body, stored.texts) == event


def forked(story, made=()):
    event = Forked(at=20.0, origin="other", seq=9, hash="00", limits=Limits(), made=tuple(made))
    story.state = evolve_run(story.state, event)
    return story.hear(Resumed(2, 21.0))


def test_a_call_that_is_not_repeatable_and_was_begun_at_a_fork_is_asked_about_and_its_process_left_alone():
    story = Story()
    story.hear(Begun("tool:pay", 1.0, PROCESS))
    assert forked(story) == ["run_resumed", "clarification_requested"]
    assert "that this run was forked from has made this call" in story.events[-1].about
    assert story.work == {}


def test_a_call_that_the_other_run_has_made_after_the_fork_is_asked_about_before_it_is_made():
    story = Story()
    forked(story, [MadeCall.of(story.request)])
    assert story.work == {}
    question = story.events[-1].question_id
    body = f'{{"kind": "answer", "question": "{question}", "answer": "{NOT_RUN}"}}'
    assert story.hear(Mailed(1, "a", body, 30.0))[-1] == "tool_reissued"
    assert [each.request.try_number for each in story.state.tools.values()] == [2]


def test_after_a_fork_a_like_call_is_held_back_and_another_one_is_made():
    story = Story()
    story.hear(Begun("tool:pay", 1.0))
    story.hear(Ended("tool:pay", 2.0, 1.0, ToolOutcome.SUCCEEDED))
    assert forked(story, [MadeCall.of(story.request)]) == ["run_resumed"]
    other = ToolRequested(node="send", tool="post", arguments="{}", timeout_seconds=60.0)
    assert story._step(other) == ["tool_requested"]
    assert story._step(story.request) == ["tool_requested", "clarification_requested"]


def test_a_repeatable_call_is_made_again_in_a_fork():
    story = Story(repeatable=True)
    story.hear(Begun("tool:pay", 1.0, PROCESS))
    assert forked(story) == ["run_resumed", "tool_reissued"]
