"""In any order of links, reminders, other answers and kills, each question is answered once, by somebody allowed.

`REPLAN_LINK_INTERLEAVINGS=1000` plays that many homes, each from its own seed.
"""

import os
from collections import Counter

from actors.run.questions import ClarificationAnswered
from tests.webhooks.answer_checks import check
from tests.webhooks.answer_world import AnswerWorld

INTERLEAVINGS = int(os.environ.get("REPLAN_LINK_INTERLEAVINGS", "12"))
SOUGHT = ("taken", "refused", "cut", "clarification_reminded", "clarification_escalated", "by link")
"""What has to occur in all homes together, so that the checks are about something."""


def test_each_question_is_answered_once_by_somebody_allowed_or_escalates_as_declared(record_property):
    seen = Counter()
    for seed in range(INTERLEAVINGS):
        world = AnswerWorld(seed)
        try:
            world.play()
            check(world)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
        seen.update(each.result for each in world.sent)
        seen.update(each.event.kind for records in world.records.values() for each in records)
        answered = [each.event for records in world.records.values() for each in records]
        seen.update(f"by {event.via}" for event in answered if isinstance(event, ClarificationAnswered))
        seen.update(homes=1, kills=sum(life.dead for life in world.lives), messages=len(world.deliveries))
    assert all(seen[name] for name in SOUGHT), seen
    for name in sorted(seen):
        record_property(name, seen[name])
