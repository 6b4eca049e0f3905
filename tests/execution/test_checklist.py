"""A checklist counts the steps that are done and those that have failed."""

from actors.values.flow import Checklist, ChecklistItem, NodeState


def test_steps_are_counted_by_what_has_become_of_them():
    states = [NodeState.DONE, NodeState.DONE, NodeState.FAILED, NodeState.OPEN, NodeState.SKIPPED]
    items = tuple(ChecklistItem(str(place), "a step", state, str(state)) for place, state in enumerate(states))
    checklist = Checklist("title", items)
    assert (checklist.done, checklist.failed) == (2, 1)
