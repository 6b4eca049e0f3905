"""The settings of reminders: who is asked a question first, when people are reminded, and who is asked next."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from actors.files.validation_errors import Config, config_error
from actors.run.reminder_events import ReminderRule, ReminderScope, ReminderStep
from replan.setup.limit_fields import duration_schema, duration_up_to
from replan.setup.people import PersonEntry

AFTER_MAX = 366 * 86_400
"""The longest time after which a step may be due, in seconds."""
STEPS_MAX = 20
"""The most steps of one rule."""

After = Annotated[float, Field(gt=0, allow_inf_nan=False), duration_up_to(AFTER_MAX), duration_schema(AFTER_MAX)]


class ReminderStepEntry(Config):
    """What is done once a question has been open for a time."""

    after: After
    """The time since the question was asked, such as `4h` or `1d`, or in seconds."""
    ask: tuple[str, ...] = ()
    """The people who are asked from then on; without it, those who were asked before are reminded."""


class ReminderEntry(Config):
    """What is done about questions that nobody answers."""

    questions: ReminderScope = "all"
    """Which questions it is for: all, approvals (also reviews, and what became of a tool's call), or ordinary ones."""
    ask: tuple[str, ...] = ()
    """The people who are asked first; without it, everybody who may answer."""
    steps: Annotated[tuple[ReminderStepEntry, ...], Field(min_length=1, max_length=STEPS_MAX)]
    """What is done later, the earliest first."""

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        for place, (step, later) in enumerate(zip(self.steps, self.steps[1:], strict=False), 1):
            if later.after <= step.after:
                hint = "give each step a longer time than the one before it"
                raise config_error("the steps are not in the order of their times", ("steps", place, "after"), hint)
        for where, names in self._named():
            if len(set(names)) < len(names):
                raise config_error("a name is there twice", where, "name each person once")
        asked = set(self.ask)
        for place, step in enumerate(self.steps):
            if step.ask and not self.ask:
                hint = "name those who are asked first"
                raise config_error("further people are asked, but everybody was asked before", ("ask",), hint)
            if again := asked.intersection(step.ask):
                name = min(again)
                raise config_error(f"{name!r} was asked before", ("steps", place, "ask"), "leave out the name")
            asked.update(step.ask)
        return self

    def _named(self) -> list[tuple[tuple[str | int, ...], tuple[str, ...]]]:
        """Return each list of names with its place below the entry."""
        return [(("ask",), self.ask), *((("steps", place, "ask"), step.ask) for place, step in enumerate(self.steps))]

    def check_people(self, people: Mapping[str, PersonEntry], place: int) -> None:
        """Raise a config error for a name that is not in the settings, or whose person may not answer the questions."""
        for where, names in self._named():
            for name in names:
                if name not in people:
                    hint = "name one of people"
                    raise config_error(f"there is no person {name!r}", ("reminders", place, *where), hint)
                if not people[name].may_answer(people_only=self.questions != "ordinary"):
                    cause = f"{name!r} may not answer approvals"
                    hint = "set `may: approve` for the person, or `questions: ordinary` here"
                    raise config_error(cause, ("reminders", place, *where), hint)

    @property
    def rule(self) -> ReminderRule:
        """The rule, as a run begins with it."""
        steps = tuple([ReminderStep(after_seconds=step.after, ask=step.ask) for step in self.steps])
        return ReminderRule(questions=self.questions, ask=self.ask, steps=steps)
