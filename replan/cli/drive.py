"""Drives a run in the foreground: signals, questions on the terminal, progress, and the result at the end."""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import trio

from actors.run.inbox import EDIT
from actors.run.kind import PreparedRun
from actors.run.open_question import OpenQuestion
from actors.run.result import RunResult
from actors.values.format import stamp
from replan.cli.exits import Exit, exit_of_result
from replan.cli.hints import OutageNotes, plugin_options, say_how_to_answer, say_how_to_follow, say_how_to_resume
from replan.cli.options import Invocation
from replan.cli.terminal.console import ignore_closed_stdout, notice, print_json, show
from replan.cli.terminal.progress import Progress, progress
from replan.cli.terminal.prompt import ask_on_terminal, drop_typed, may_ask
from replan.runs.engine import Engine
from replan.runs.loaded import AnyKind
from replan.runs.session import Admit, RunSession
from replan.setup.installation import program
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.drive.options import TERMINATED_SECONDS, Stop


@dataclass
class Signals:
    """Receives signals, and requests the stop of a run."""

    stop: Stop = field(default_factory=Stop)
    """The request to stop the run. The driver of the run waits for it."""
    code: Exit | None = None
    """The exit code: 130 after Ctrl-C, 143 after SIGTERM; None before the first signal."""
    interrupted: trio.Event = field(default_factory=trio.Event)
    """An event that the first signal sets."""
    asking: bool = False
    """Whether the terminal waits for the user's answer. If so, no reply is in flight."""

    async def watch(self, note: Callable[[str], None], driven_elsewhere: Callable[[], bool]) -> None:
        """At the first signal, request that the run is parked. At the second signal, request an immediate end.

        `driven_elsewhere` returns whether another process drives the run. If so, no notice about parking is shown.
        """
        count = 0
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            async for number in received:
                count += 1
                if count == 1:
                    self.code = Exit.TERMINATED if number == signal.SIGTERM else Exit.INTERRUPTED
                    if number == signal.SIGTERM:
                        given = self.stop.grace
                        self.stop.grace = TERMINATED_SECONDS if given is None else min(given, TERMINATED_SECONDS)
                    if not (self.asking or driven_elsewhere()):
                        wait = _grace_text(self.stop.grace)
                        note(f"parking: {wait}; a second Ctrl-C exits at once, and cancels nothing")
                    self.interrupted.set()
                    self.stop.requested.set()
                else:
                    self.stop.forced.set()


def _grace_text(grace: float | None) -> str:
    if grace is None:
        return "waiting for the replies in flight, at most until their time limits"
    return f"waiting at most {grace:g} s for the replies in flight"


ANSWER_SHOWN_MAX = 200
"""The number of characters to which the terminal shortens an answer that somebody gave through another interface."""


async def _converse(
    engine: Engine,
    session: RunSession,
    result: RunResult,
    signals: Signals,
    progress: Progress,
    *,
    invocation: Invocation,
) -> RunResult:
    has_asked = False
    while result.status == "waiting" and result.question is not None and signals.code is None:
        progress.pause()
        has_asked = True
        edits = await _may_edit(engine, result.question)
        answer = await _ask(result.question, signals, edits=edits)
        if answer is None:
            break
        if edits and answer == EDIT:
            posted = await _edit(engine, invocation, result.question, progress)
        else:
            posted = await _post(engine, result.question, answer, progress)
        if posted:
            result = await session.go_on(signals.stop)
            if result.outcome == "cancelled" and signals.code is None:
                progress.note("the run was cancelled elsewhere")
    if has_asked:
        drop_typed()  # The user's shell would run the remaining lines of a pasted text as commands.
    return result


async def _post(engine: Engine, question: OpenQuestion, answer: str, progress: Progress) -> bool:
    """Post an answer. If a different answer was posted earlier, print a notice.

    Return False if the question is still open and must be asked again.
    """
    full = str(question["id"])
    run, _, name = full.rpartition("/")
    common = await engine.common_with_inbox(run)
    assert common is not None
    current = common.questions[name]
    if common.finished is not None and not current.answer:
        return True  # The run has ended meanwhile, so nothing waits for an answer.
    try:
        receipt = await engine.answer(full, answer, via="cli")
    except UsageProblem as problem:
        progress.note(problem.cause)
        return not current.open
    if receipt.result == "conflict" and receipt.stands is None:
        progress.note("the question was declined elsewhere")
    elif receipt.result == "conflict" or current.answer:
        first = str(receipt.stands)
        shown = first if len(first) <= ANSWER_SHOWN_MAX else f"{first[:ANSWER_SHOWN_MAX]}…"
        progress.note(f"the question was answered elsewhere: {shown}")
    return True


async def _may_edit(engine: Engine, question: OpenQuestion) -> bool:
    if not (question.get("people_only") and question["choices"]):
        return False
    from replan.runs.editing import approves_plan

    return approves_plan(await engine.state_with_inbox(question["run_id"]), question["id"].rpartition("/")[2])


async def _edit(engine: Engine, invocation: Invocation, question: OpenQuestion, progress: Progress) -> bool:
    """Let the user edit and approve the plan. Return False if the question is still open and must be asked again."""
    from replan.cli.plan_editor import edit_and_approve

    try:
        return await edit_and_approve(engine, invocation, question["run_id"], question["step"])
    except UsageProblem as problem:
        progress.note(str(problem))
        return False


async def _ask(question: OpenQuestion, signals: Signals, *, edits: bool) -> str | None:
    """Return the user's answer; None at the end of input or at a signal."""
    answer: str | None = None

    async def ask(scope: trio.CancelScope) -> None:
        nonlocal answer
        answer = await ask_on_terminal(question, edits=edits)
        scope.cancel()

    signals.asking = True
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, nursery.cancel_scope)
        await signals.interrupted.wait()
        nursery.cancel_scope.cancel()
    signals.asking = False
    return answer


TICK_SECONDS = 1.0
"""The seconds between two updates of the progress display."""


async def drive_to_rest(
    engine: Engine,
    run: str,
    invocation: Invocation,
    *,
    kind: AnyKind,
    title: str,
    new: PreparedRun | None = None,
    admit: Admit | None = None,
    compare: bool = False,
) -> tuple[RunResult, Signals]:
    """Drive a run until it ends, waits for a person or is stopped. Return its result and the received signals.

    `new` is the prepared input of a new run; None for a run that has begun. `admit` and `compare` are the same as for
    `RunSession.begin` and `RunSession.drive`.
    """
    signals = Signals(Stop(grace=invocation.grace))
    # With -v the log has a line for each record, so progress would only repeat it.
    silent = invocation.json or invocation.quiet or invocation.verbose > 0 or invocation.log_json
    replies = partial(engine.replies.of, run)
    with progress(kind, f"{run}: {title}", replies, silent=silent, full=invocation.full) as display:
        async with trio.open_nursery() as nursery:
            outage = OutageNotes()

            def on_record(record: Record[Any], state: Any) -> None:
                display.on_record(record, state)
                note = outage.about(record.event, kind.run_state(state))
                if note:
                    display.note(note)

            session = RunSession(engine, run, on_record, display.note)
            nursery.start_soon(signals.watch, display.note, lambda: session.following)
            nursery.start_soon(_tick, display)
            if new is not None:
                result = await session.begin(new, signals.stop, admit)
            else:
                result = await session.drive(signals.stop, compare=compare)
            if may_ask(no_input=invocation.no_input):
                result = await _converse(engine, session, result, signals, display, invocation=invocation)
            nursery.cancel_scope.cancel()
    return result, signals


async def show_result(
    engine: Engine, kind: AnyKind, result: RunResult, signals: Signals, invocation: Invocation
) -> int:
    """Print the result of a run after this process has driven it. Return the exit code."""
    invocation.run = result.run_id
    print_result(kind, result, as_json=invocation.json, full=invocation.full)
    row = await engine.journal.row(result.run_id)
    return _exit_code(result, signals, invocation.plugins, hosted=await engine.has_host(row.kind, row.format))


async def drive_further(
    engine: Engine, run: str, invocation: Invocation, *, kind: AnyKind, title: str, compare: bool = True
) -> int:
    """Drive a run that has begun, print its result, and return the exit code.

    With `compare`, a notice is printed if files that the run uses have changed since its start.
    """
    result, signals = await drive_to_rest(engine, run, invocation, kind=kind, title=title, compare=compare)
    return await show_result(engine, kind, result, signals, invocation)


async def _tick(display: Progress) -> None:
    while True:
        await trio.sleep(TICK_SECONDS)
        display.tick()


def print_result(kind: AnyKind, result: RunResult, *, as_json: bool, full: bool = False) -> None:
    """Print the result of a run.

    If stdout is closed, raise no error, so that the exit code still says how the run ended.
    """
    with ignore_closed_stdout():
        if as_json:
            print_json(result.to_json())
        else:
            show(kind.views.lines(result, program(), full=full))


def _exit_code(result: RunResult, signals: Signals, plugins: Sequence[str], *, hosted: bool) -> int:
    for remark in result.remarks():
        notice(remark)
    say_how_to_answer(result)
    if result.status == "running" and not result.held_up:
        say_how_to_follow(result.run_id)
    elif result.status == "waiting" and hosted:
        notice(f"the host then continues the run: {program()} log {result.run_id} --follow")
    elif result.status != "finished":
        say_how_to_resume(result.run_id, plugins, then=result.status == "waiting")
        if hosted and result.next_try is not None:
            notice(f"the host asks the provider again at {stamp(round(result.next_try))}")
    elif plugins and result.reopened_by:
        notice(f"to continue the run, name its plug-ins again: {plugin_options(plugins)}")
    if result.status != "finished" and signals.code is not None:
        return signals.code
    return exit_of_result(result)
