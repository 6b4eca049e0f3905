"""Every question that acquisitions can ask, drawn from the functions that ask it: for its test and its page."""

from collections.abc import Iterator

from actors.run.tools import ToolOutcome
from actors.values.question_form import AskedForm
from packages.acquire.tests.acquisition import stage as acquisition
from replan_acquire.acquisition.answers import acquisition_question, field_question
from replan_acquire.acquisition.gates import BLOCKED
from replan_acquire.acquisition.planner_state import PlannerDecision, PlannerState
from replan_acquire.acquisition.profile_check import load_profile, shipped_profiles
from replan_acquire.acquisition.schema import Schema
from tests.support.every_question import Drawn, with_frame_of


def every_question() -> Iterator[Drawn]:
    """Yield each question of an acquisition with the shipped profiles."""
    for name in shipped_profiles():
        schema = Schema(load_profile(name).profile, PlannerState())
        part = f"Acquisition, profile `{name}`"
        for path in schema.fields:
            decision = PlannerDecision(action="ask_user", target_field=path)
            yield Drawn(part, f"`{path}` is wanted of a person", acquisition_question(schema, decision))
        words = "How many did you count?"
        for when, text in (
            ("the model asks in its own words", words),
            ("the model's words are no question", "Please give the value."),
            ("a calculation is blocked", f"{BLOCKED} the units differ.\n{field_question(schema, path)}"),
            ("a calculation is blocked, and the model asks", f"{BLOCKED} the units differ.\n{words}"),
        ):
            decision = PlannerDecision(action="ask_user", target_field=path, question=text)
            yield Drawn(part, when, acquisition_question(schema, decision))
        if name == "market_size":
            yield Drawn(part, "the model repeats a search that has brought nothing", _searched_twice())


def _searched_twice() -> AskedForm:
    """Return the question that is asked in place of repeating a search that had no results."""
    given = {"core.region": "Portugal", "core.currency": "EUR"}
    stage = acquisition.Stage(acquisition.prepared(given=given))
    stage.plan("search", "market.customers", query="buildings")
    stage.search_ends(outcome=ToolOutcome.TRANSIENT, reason="no connection")
    stage.plan("search", "market.customers", query="buildings")
    return with_frame_of(stage.question)
