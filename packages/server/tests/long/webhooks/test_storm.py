"""A storm of messages: many runs end at once, while the receiver refuses."""

import os
import threading
import time
from collections import Counter

import trio

from actors.run.questions import ClarificationAnswered
from packages.server.tests.web.world import served
from packages.server.tests.webhooks.answer_checks import check
from packages.server.tests.webhooks.answer_world import AnswerWorld
from packages.server.tests.webhooks.test_delivery import hook, until
from replan_server.webhooks.sender import AT_ONCE_MAX

RUNS = 30
REFUSED = 60
"""The first calls, which the receiver refuses."""


async def test_a_storm_of_messages_keeps_a_few_on_their_way_holds_up_no_run_and_loses_none(tmp_path, quick, receiver):
    busy, most, taken, lock = 0, 0, list[str](), threading.Lock()

    def slowly(status):
        def answer(handler):
            nonlocal busy, most
            with lock:
                busy += 1
                most = max(most, busy)
            time.sleep(0.01)
            with lock:
                busy -= 1
                taken.extend([handler.headers["webhook-id"]] if status == 204 else [])
            handler.send_response(status)
            handler.send_header("content-length", "0")
            handler.end_headers()

        return answer

    receiver.behave = lambda number: slowly(503 if number <= REFUSED else 204)
    async with served(tmp_path, webhooks=hook(receiver)) as web:
        started = [await web.start("plans") for _ in range(RUNS)]
        async with trio.open_nursery() as nursery:
            for run in started:
                nursery.start_soon(web.settled, run, "finished")
        await until(lambda: len(taken) >= RUNS)
        await trio.sleep(0.5)
    assert len(taken) == len(set(taken)) == RUNS, "a message that was taken was sent again"
    assert {each.data["run_id"] for each in receiver.deliveries if each.id in taken} == set(started)
    assert most <= AT_ONCE_MAX
    assert most > 1


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
