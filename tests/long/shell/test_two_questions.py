"""Two open questions, killed drivers, and answers in reverse order from another process, one of them twice.

Forty seeded schedules; `REPLAN_SHELL_SEEDS=20000` runs more, as `make soak` does; `REPLAN_SHELL_SEED=N` runs one.
"""

import json
import os
from dataclasses import replace
from random import Random

import pytest
import trio

from runtime.core.ledger import Limits
from tests.long.shell.world import World
from tests.support.worlds import passed, pinned, rejected

SEEDS = max(40, int(os.environ.get("REPLAN_SHELL_SEEDS", "40")))
BATCHES = 3


class TwoQuestions(World):
    """A world in which both roots ask one question; the user answers when both are open, the second first."""

    def __init__(self, seed):
        super().__init__(seed)
        self.config = pinned({"left": {}, "right": {}, "end": {"requires": ["left", "right"]}})
        self.limits = Limits(calls=100)
        self.reply_rates = replace(self.reply_rates, fault=0.0)
        kill = max(0.5, self.fault_rates.kill)
        calm = {"cancel": 0.0, "bug": 0.0, "tell": 0.0, "malformed": 0.0, "willing": True, "patient": True}
        self.fault_rates = replace(self.fault_rates, kill=kill, **calm)

    async def guard(self, artifact, context):
        """Reject the first attempt of each root with a question; accept everything else."""
        rng = Random(f"{self.seed}:judge:{artifact.node}")
        await trio.sleep(rng.choice((0.0, 0.2, 3.0)))
        return rejected("requirements.missing") if artifact.node in ("left/v1.a1", "right/v1.a1") else passed()

    async def _user(self):
        while len(self.oracle.questions) < 2:  # noqa: ASYNC110 - the user polls
            await trio.sleep(3.0)
        for name, step in (*reversed(self.oracle.questions.items()), next(reversed(self.oracle.questions.items()))):
            body = {"kind": "answer", "question": name, "answer": f"for {step}"}
            await self._post(Random(f"{self.seed}:{name}").uniform(0, 30), f"answer:{name}", json.dumps(body))


def seeds(batch):
    if "REPLAN_SHELL_SEED" in os.environ:
        return [int(os.environ["REPLAN_SHELL_SEED"])] if batch == 0 else []
    return range(batch, SEEDS, BATCHES)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_each_answer_reaches_its_question_once_and_the_run_succeeds(batch):
    for seed in seeds(batch):
        world = TwoQuestions(seed)
        try:
            world.play()
            events = [record.event for record in world.records if record.event.kind.startswith("clarification_")]
            answers = [
                (world.oracle.all_questions[event.question_id].step, event.answer)
                for event in events
                if hasattr(event, "answer")
            ]
            assert sorted(answers) == [("left", "for left"), ("right", "for right")]
            assert [event.kind for event in events].count("clarification_requested") == 2
            assert world.oracle.finished.outcome == "success"
        except Exception as error:
            raise AssertionError(f"repeat with: REPLAN_SHELL_SEED={seed} pytest {__file__}") from error


def test_the_schedules_kill_drivers_between_question_and_answer():
    """In at least half of the schedules another process than the one that asked consumes the answer."""
    changed = 0
    for seed in range(20):
        world = TwoQuestions(seed)
        world.play()
        epochs = {record.event.kind: record.epoch for record in world.records}
        changed += epochs["clarification_requested"] != epochs["clarification_answered"]
    assert changed >= 10
