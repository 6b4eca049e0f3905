"""Executes the histories of acquisition runs (`acquisitions/*.txt`), with the profile `market_size`.

    begin [PATH=TEXT ...] [calls=N] [at_limit=ask]   admit the run with given values, and drive it
    plan ACTION [PATH] [QUERY]             the model's decision
    reply "text"                           any other reply of the model
    found ["SOURCE: text" ...]             what the search has found
    broken "reason"                        the search tool has failed
    observed PATH VALUE UNIT QUOTE SOURCE  the model's observation
    answer "text" · decline                a person's answer, or none
    require "text" · cancel                a person's word
    resume                                 another driver takes over
    work                                   what is outstanding

The lines of the transcript are those of `replan log`.
"""

from pathlib import Path

import pytest

from actors.run.tools import ToolOutcome
from packages.acquire.tests.acquisition.stage import Stage, prepared
from replan_acquire.acquisition.kind import ACQUISITION
from replan_acquire.acquisition.result import AcquisitionJson
from replan_acquire.acquisition.views import record_text
from tests.histories.stage_interpreter import StageInterpreter
from tests.histories.test_histories import check
from tests.histories.test_views import check_views

HISTORIES = sorted((Path(__file__).parent / "acquisitions").glob("*.txt"))


class AcquisitionInterpreter(StageInterpreter):
    record_text = staticmethod(record_text)

    def _begin(self, *words):
        given = dict(word.split("=", 1) for word in words)
        limits = {"max_calls": int(given.pop("calls", "60")), "at_limit": given.pop("at_limit", None)}
        self.stage = Stage(prepared(given=given, limits=limits))

    def _plan(self, action, path="", query=""):
        self.stage.plan(action, path, query=query)

    def _found(self, *texts):
        self.stage.found(*(tuple(text.split(": ", 1)) for text in texts))

    def _broken(self, reason):
        self.stage.search_ends(outcome=ToolOutcome.TRANSIENT, reason=reason)

    def _observed(self, *words):
        self.stage.observed(words)

    def _require(self, text):
        self.stage.post(kind="requirement", text=text)


@pytest.mark.parametrize("path", HISTORIES, ids=[path.stem for path in HISTORIES])
def test_a_history_of_an_acquisition_has_its_transcript(path, request):
    check(path, AcquisitionInterpreter(), request)


@pytest.mark.parametrize("name", ["search_ask_calculate", "decline_and_requirement", "search_is_down"])
def test_every_view_of_a_history_shows_what_is_written(name, request):
    """The files `views/*.txt` hold what the views show; `tests/histories/test_views.py` describes them."""
    parts = (ACQUISITION, AcquisitionInterpreter, AcquisitionJson)
    check_views(Path(__file__).parent, f"acquisitions/{name}", parts, request)
