"""Prints notices about a run on stderr: how to answer, resume or follow it. Makes the notices about outages."""

import shlex
from collections.abc import Sequence
from typing import Any

from actors.run.open_question import choices
from actors.run.result import RunResult
from actors.run.state import RunState
from actors.run.waits import PROVIDER, WaitEnded, WaitRequested
from actors.values.format import format_count
from replan.cli.terminal.console import notice
from replan.setup.installation import program
from runtime.models.port import FaultKind


def say_how_to_answer(result: RunResult) -> None:
    """Print the command that answers the first question of a run.

    If the run has more questions, print the command that lists them.
    """
    if result.status == "waiting" and result.open_questions:
        shown = [] if result.question is None else choices(result.question)
        say_answer_command(result.open_questions[0], shown)
        say_more_questions(result.run_id, len(result.open_questions) - 1)


CHOICES_SHOWN_MAX = 60
"""The length, in characters, of the longest list of choices that a printed `answer` command contains. Instead of a
longer list, it contains `CHOICE`."""


def answer_command(question: str, values: Sequence[str]) -> str:
    """Return the command that answers a question. It contains the choices if their list is short."""
    listed = " | ".join(shlex.quote(value) for value in values)
    text = "TEXT" if not values else listed if len(listed) <= CHOICES_SHOWN_MAX else "CHOICE"
    return f"{program()} answer {shlex.quote(question)} {text}"


def say_answer_command(question: str, values: Sequence[str]) -> None:
    """Print the command that answers a question."""
    notice(f"answer with: {answer_command(question, values)}")


def say_more_questions(run: str, count: int) -> None:
    """Print how many other questions of a run are open, and the command that lists them."""
    if count > 0:
        notice(
            f"{format_count(count, 'more question')} {'is' if count == 1 else 'are'} open: {program()} questions {run}"
        )


def say_how_to_resume(run: str, plugins: Sequence[str] = (), *, then: bool = False) -> None:
    """Print the command that resumes a run. The printed command names the same plug-in files as the current command."""
    command = " ".join(filter(None, [program(), "resume", run, plugin_options(plugins)]))
    notice(f"{'then go' if then else 'go'} on with: {command}")


def plugin_options(files: Sequence[str]) -> str:
    """Return the options that name plug-in files."""
    return " ".join(f"--plugins {shlex.quote(file)}" for file in files)


def say_how_to_follow(run: str) -> None:
    """Print the commands that follow a run that a host drives, and that list and answer the run's questions."""
    notice(f"a host drives the run: {program()} log {run} --follow")
    notice(f"list its questions with: {program()} questions {run}; answer one with: {program()} answer {run}/ID TEXT")


class OutageNotes:
    """Makes the notices about the beginning and the end of outages of one run's provider."""

    def __init__(self) -> None:
        self._waiting = False

    def about(self, event: Any, run: RunState[Any] | None) -> str:
        """Return the notice about an event; empty if the event needs no notice.

        `run` is the common part of the run's state after the event.
        """
        match event:
            case WaitRequested(node=str(), why=why) if event.for_provider and not self._waiting:
                self._waiting = True
                refused = event.fault is not None and event.fault.kind is FaultKind.REFUSED_CONNECTION
                tip = f" Is its server running? `{program()} doctor --online` checks this." if refused else ""
                return f"the provider is down ({why}); the run waits until it is up again; Ctrl-C parks the run.{tip}"
            case WaitEnded(request_id=name) if name == PROVIDER and self._waiting:
                self._waiting = False
                return "the provider is up again"
            case _:
                self._waiting = self._waiting and run is not None and PROVIDER in run.waits
                return ""
