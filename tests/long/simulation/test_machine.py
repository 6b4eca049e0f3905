"""The planning machine under Hypothesis: whatever happens to a run, in whatever order, keeps every promise.

The driver and the books are those of the simulation (`tests.long.simulation.invariants`), of searches with a single
branch; those with several have worlds of their own (`tests.search.play`). A workflow and its world have a number. What
comes next, and every roll of the dice in it, is Hypothesis's choice: a failure is shrunk to a short story.
"""

import random

from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from runtime.core.messages import Parking
from tests.long.simulation.driver import Run
from tests.support.examples import examples


class Told(Run):
    """A run whose driver dies when it is told to, and not by chance."""

    def crash(self):
        self.power_cuts = 0.0
        super().crash()


class Story(RuleBasedStateMachine):
    run = None

    @initialize(seed=some.integers(0, 10_000), dice=some.randoms(use_true_random=False))
    def begin(self, seed, dice):
        self.run = Told(seed, power_cuts=0.0)
        self.run.dice = dice
        self.run.begin()

    def going(self):
        return self.run.state.run.finished is None

    @precondition(going)
    @rule(patient=some.booleans())
    def an_actor_or_the_user_answers(self, patient):
        self.count()
        self.run.go_on(patient=patient)

    @precondition(lambda self: self.run.sent)
    @rule()
    def a_reply_comes_twice(self):
        self.count()
        self.run.again()

    @precondition(lambda self: self.run.state.run.ledger.forfeited)
    @rule()
    def a_reply_comes_late(self):
        self.count()
        self.run.late()

    @precondition(going)
    @rule()
    def the_driver_is_killed_and_another_takes_over(self):
        self.run.resume()

    @precondition(going)
    @rule()
    def the_driver_is_killed_in_its_next_write(self):
        self.run.power_cuts = 1.0

    @precondition(going)
    @rule()
    def the_run_is_parked(self):
        self.run.send(Parking(self.run.now))

    @precondition(going)
    @rule()
    def the_user_says_something(self):
        self.count()
        self.run.tell()

    @precondition(lambda self: self.going() and self.run.closed())
    @rule()
    def the_user_answers_a_question_that_is_gone(self):
        self.count()
        self.run.answer(self.run.closed()[0])

    @precondition(going)
    @rule(rarely=some.integers(0, 9))
    def the_user_cancels(self, rarely):
        if rarely == 9:
            self.run.cancel()

    def count(self):
        """Give what comes next a number of its own."""
        self.run.count += 1

    def teardown(self):
        """Left alone, the run ends; its journal gives the same state, and every prefix of it is a valid start."""
        if self.run is None:
            return
        self.run.dice = random.Random(0)  # What is left to play is no choice of Hypothesis's.
        self.run.play(patient=True, disturbance=0.0)
        assert self.run.state.run.finished is not None
        self.run.close()


TestStory = Story.TestCase
TestStory.settings = examples(25)
