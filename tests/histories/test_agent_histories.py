"""Executes the histories of a small agent (`agents/*.txt`), which calls a model, asks a person and uses a tool.

    begin [calls=N deadline=S at_limit=ask repeatable]   start the run; its tool is called `book`
    reply "text" · answer "text" · cancel         the model's reply, a person's answer, a person's word
    started · ended OUTCOME                       the tool's call is about to begin; how it ended
    wait ID                                       a wait is over
    resume                                        another driver takes over
    gone [unseen]                                 the process of the call has ended, or cannot be seen
    work                                          what is outstanding

The lines of the transcript are those of `replan log`.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from actors.run.records import record_text
from runtime.core.ledger import Limits
from runtime.core.messages import Woken
from tests.histories.stage_interpreter import StageInterpreter
from tests.histories.test_histories import check
from tests.run.test_machine import Stage

HISTORIES = sorted((Path(__file__).parent / "agents").glob("*.txt"))


class AgentInterpreter(StageInterpreter):
    record_text = staticmethod(record_text)

    def _begin(self, *words):
        options = dict(word.split("=") for word in words if "=" in word)
        self.stage = Stage(
            Limits(**{name: value if name == "at_limit" else float(value) for name, value in options.items()})
        )
        if "repeatable" in words:
            agent = self.stage.machine.agent
            decide = agent.decide
            agent.decide = lambda state: [
                replace(wish, repeatable=True) if hasattr(wish, "repeatable") else wish for wish in decide(state)
            ]

    def _started(self):
        self._tool_started(self._tool())

    def _ended(self, outcome):
        self._tool_ended(self._tool(), outcome, "receipt 7")

    def _wait(self, name):
        self.stage.send(Woken(name, self.stage.work[name].until))

    def _tool(self):
        [name] = self.stage.state.run.tools
        return name


@pytest.mark.parametrize("path", HISTORIES, ids=[path.stem for path in HISTORIES])
def test_a_history_of_an_agent_has_its_transcript(path, request):
    check(path, AgentInterpreter(), request)
