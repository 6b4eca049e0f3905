"""Executes the commands that the histories of all kinds on a stage have in common."""

import shlex

from actors.run.tools import Begun, Checked, Ended, ToolOutcome

PROCESS = "host/1/77/boot.5"


class StageInterpreter:
    """One run; `execute` takes a command and returns the resulting lines. A kind adds its commands."""

    stage = None

    @property
    def events(self):
        return self.stage.events

    def execute(self, command, _):
        """Carry out a command; return the new lines of the transcript."""
        name, *words = shlex.split(command)
        known = 0 if self.stage is None else len(self.stage.events)
        lines = getattr(self, f"_{name.replace('-', '_')}")(*words)
        if lines is not None:
            return lines
        texts = [self.record_text(event, self.stage.state) for event in self.stage.events[known:]]
        return [line for text in texts for line in text.split("\n")] or ["nothing new"]

    def _reply(self, text):
        self.stage.reply(text)

    def _answer(self, *words):
        self.stage.answer(*words)

    def _decline(self, *words):
        self.stage.decline(*words)

    def _cancel(self):
        self.stage.post(kind="cancel")

    def _resume(self):
        self.stage.resume()

    def _work(self):
        status = self.stage.machine.summary(self.stage.state).status
        return [f"{status}: {', '.join(self.stage.work) or 'nothing outstanding'}"]

    def _tool_started(self, name):
        self.stage.send(Begun(name, self.stage.now, PROCESS))

    def _tool_ended(self, name, outcome, output):
        self.stage.send(Ended(name, self.stage.now, 0.1, ToolOutcome(outcome), output))

    def _gone(self, unseen=""):
        [name] = [name for name in self.stage.work if name.startswith("check:")]
        self.stage.send(Checked(name, self.stage.now, certain=not unseen))
