"""Messages to a run from Python: notes, requirements, answers to its questions, and changes of its limits."""

from functools import partial
from typing import Any, Literal, Unpack

from actors.run.limits import RunLimits
from actors.run.result import RunResult
from replan.api.loops import blocking, name_keywords, same_parameters
from replan.api.options import Home, at_home
from replan.runs.changes import Changes, post_changes
from replan.runs.engine import Engine
from replan.runs.inbox import AnswerReceipt
from replan.runs.run_ids import resolve_run

Kind = Literal["note", "requirement"]


async def atell(run: str, text: str, *, kind: Kind = "note", home: Home = None) -> None:
    """Post a message to a run: later prompts show a note; a requirement changes what is asked for, and acts at once.

    In an acquisition, a note `FIELD=VALUE` corrects a value, also after a success: the run goes on with it when it is
    resumed. `text` has at most 10,000 characters. Raises `RunNotFound`. Raises `UsageProblem` for a text that is empty
    or too long, a correction that cannot be taken, and a run that has finished.
    """
    await at_home(home, lambda engine: engine.tell(run, text, kind))


async def aanswer(question: str, text: str, *, home: Home = None) -> AnswerReceipt:
    """Answer the question `RUN/ID`.

    The same answer again is a `duplicate`, another one a `conflict` that says which counts. Raises `RunNotFound`, and
    `UsageProblem` for an unknown or closed question or an answer that does not fit its schema.
    """
    return await at_home(home, lambda engine: engine.answer(question, text, via="python"))


async def adecline(question: str, *, home: Home = None) -> AnswerReceipt:
    """Decline a question; `AnswerReceipt.otherwise` says what happens without an answer.

    Raises the errors of `aanswer`.
    """
    return await at_home(home, lambda engine: engine.decline(question, via="python"))


def tell(run: str, text: str, *, kind: Kind = "note", home: Home = None) -> None:
    """Post a message to a run, without an event loop. Parameters and errors are those of `atell`."""
    blocking("tell", partial(atell, run, text, kind=kind, home=home))


def answer(question: str, text: str, *, home: Home = None) -> AnswerReceipt:
    """Answer a question, without an event loop. Parameters and errors are those of `aanswer`."""
    return blocking("answer", partial(aanswer, question, text, home=home))


def decline(question: str, *, home: Home = None) -> AnswerReceipt:
    """Decline a question, without an event loop. Parameters and errors are those of `adecline`."""
    return blocking("decline", partial(adecline, question, home=home))


@name_keywords
async def alimits(
    run: str, *, model: str | None = None, strict: bool = False, home: Home = None, **limits: Unpack[RunLimits]
) -> RunResult:
    """Change the limits of a run, of its calls and replies, or its model, and return its result.

    What is None stays as it is. Limits count from the start of the run, `deadline` from now. With
    `strict`, plans that leave a demand of the text in no step are rejected from now on. The run may be driven, wait, be
    parked, or have ended for want of a budget; it is not driven here: `resume` goes on with it, or its host does.
    Raises `RunNotFound`. Raises `UsageProblem` for a change that is not valid, for no change, and for a run whose end
    is final; its place is the keyword.
    """
    changes = Changes(limits, model, strict)

    async def change(engine: Engine) -> RunResult:
        name = await resolve_run(engine.journal, run)
        await post_changes(engine, name, changes, engine.environment)
        return await engine.result(name)

    return await at_home(home, change)


@same_parameters(alimits)
def limits(run: str, **options: Any) -> RunResult:
    """Change the limits of a run, without an event loop. Parameters and errors are those of `alimits`."""
    return blocking("limits", partial(alimits, run, **options))
