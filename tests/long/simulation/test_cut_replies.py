"""Simulated runs whose replies are cut or filtered now and then: every promise holds, and a person can always go on.

`REPLAN_SIM_SEEDS=20000` plays a tenth of as many, as `make soak` does.
"""

import os
import random

import pytest

from runtime.models.port import Reply
from tests.long.simulation.driver import Run

SEEDS = max(50, int(os.environ.get("REPLAN_SIM_SEEDS", "0")) // 10)
BATCHES = 2


class Cut(Run):
    """A run whose provider cuts replies, by dice of its own."""

    parked = 0

    def __post_init__(self):
        super().__post_init__()
        self.dice_of_cuts = random.Random(self.seed)
        self.cut_share = self.dice_of_cuts.choice((0.1, 0.4, 0.7))

    def kept(self, message):
        reply = getattr(message, "reply", None)
        if isinstance(reply, Reply) and self.dice_of_cuts.random() < self.cut_share:
            reason = self.dice_of_cuts.choice(("length", "length", "content_filter"))
            object.__setattr__(reply, "text", reply.text[:-1])
            object.__setattr__(reply, "finish_reason", reason)
        return super().kept(message)

    def resume(self):
        self.parked += self.state.run.parked_cause == "reply"
        return super().resume()


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_simulated_run_with_cut_replies_keeps_every_promise(batch):
    """Budgets of attempts and calls are passed by no more than a person has allowed by resuming."""
    parked = 0
    for seed in range(batch, SEEDS, BATCHES):
        run = Cut(seed)
        try:
            run.simulate()
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
        parked += run.parked
    assert parked > SEEDS // BATCHES // 10, "hardly any run was parked: the test shows nothing"
