"""Executes the histories of a small agent (`agents/*.txt`), which calls a model, asks a person and uses a tool.

    begin [calls=N] [deadline=S] [repeatable]     start the run; its tool is called `book`
    reply "text" · answer "text" · cancel         the model's reply, a person's answer, a person's word
    started · ended OUTCOME                       the tool's call is about to begin; how it ended
    wait ID                                       a wait is over
    resume                                        another driver takes over
    gone [unseen]                                 the process of the call has ended, or cannot be seen
    work                                          what is outstanding

The lines of the transcript are those of `replan log`.
"""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from actors.run.records import record_text
from actors.run.tools import Begun, Checked, Ended, ToolOutcome
from runtime.core.ledger import Limits
from runtime.core.messages import Woken
from tests.histories.test_histories import check
from tests.run.test_machine import Stage

HISTORIES = sorted((Path(__file__).parent / "agents").glob("*.txt"))
PROCESS = "host/1/77/boot.5"


class AgentInterpreter:
    """One run; `execute` takes a command and returns the resulting lines."""

    def __init__(self):
        self.stage = None

    @property
    def events(self):
        """All events so far."""
        return self.stage.events

    def execute(self, command, _):
        name, *words = shlex.split(command)
        known = 0 if self.stage is None else len(self.stage.events)
        lines = getattr(self, f"_{name}")(*words)
        if lines is not None:
            return lines
        events = self.stage.events[known:]
        return [record_text(event, self.stage.state) for event in events] or ["nothing new"]

    def _begin(self, *words):
        options = dict(word.split("=") for word in words if "=" in word)
        self.stage = Stage(Limits(**{name: float(value) for name, value in options.items()}))
        if "repeatable" in words:
            agent = self.stage.machine.agent
            decide = agent.decide
            agent.decide = lambda state: [
                replace(wish, repeatable=True) if hasattr(wish, "repeatable") else wish for wish in decide(state)
            ]

    def _reply(self, text):
        self.stage.reply(text)

    def _answer(self, text):
        self.stage.answer(text)

    def _cancel(self):
        self.stage.post(kind="cancel")

    def _started(self):
        self.stage.send(Begun(self._tool(), self.stage.now, PROCESS))

    def _ended(self, outcome):
        self.stage.send(Ended(self._tool(), self.stage.now, 0.1, ToolOutcome(outcome), "receipt 7"))

    def _wait(self, name):
        self.stage.send(Woken(name, self.stage.work[name].until))

    def _resume(self):
        self.stage.resume()

    def _gone(self, unseen=""):
        self.stage.send(Checked(f"check:{self._tool()}", self.stage.now, certain=not unseen))

    def _work(self):
        status = self.stage.machine.summary(self.stage.state).status
        return [f"{status}: {', '.join(self.stage.work) or 'nothing outstanding'}"]

    def _tool(self):
        [name] = self.stage.state.run.tools
        return name


@pytest.mark.parametrize("path", HISTORIES, ids=[path.stem for path in HISTORIES])
def test_a_history_of_an_agent_has_its_transcript(path, request):
    check(path, AgentInterpreter(), request)
