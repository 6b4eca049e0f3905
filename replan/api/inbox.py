"""Messages to a run from Python: notes, requirements, and answers to its questions.

No process needs to drive the run, and a message is durable when the function returns. Each function has a form for trio
and asyncio programs, whose name begins with `a`.
"""

from functools import partial
from typing import Literal

from replan.api.home import Home, at_home
from replan.api.loops import blocking
from replan.runs.inbox import Heard

__all__ = ["aanswer", "adecline", "answer", "atell", "decline", "tell"]

Kind = Literal["note", "requirement"]


async def atell(run: str, text: str, *, kind: Kind = "note", home: Home = None) -> None:
    """Post a message to a run: later prompts show a note; a requirement changes what is asked for, and acts at once.

    In an acquisition, a note `FIELD=VALUE` corrects a value, also after a success: the run goes on with it when it is
    resumed. `text` has at most 10,000 characters. Raises `RunNotFound`, and `UsageProblem` for a text that is empty or
    too long, for a correction that cannot be taken, and for a run that has finished.
    """
    await at_home(home, lambda engine: engine.tell(run, text, kind))


async def aanswer(question: str, text: str, *, home: Home = None) -> Heard:
    """Answer the question `RUN/ID`.

    The same answer again is a `duplicate`, another one a `conflict` that says which counts. Raises `RunNotFound`, and
    `UsageProblem` for an unknown or closed question or an answer that does not fit its schema.
    """
    return await at_home(home, lambda engine: engine.answer(question, text, via="python"))


async def adecline(question: str, *, home: Home = None) -> Heard:
    """Decline a question; `Heard.otherwise` says what happens without an answer. Raises as `aanswer` does."""
    return await at_home(home, lambda engine: engine.decline(question, via="python"))


def tell(run: str, text: str, *, kind: Kind = "note", home: Home = None) -> None:
    """Post a message to a run, as `atell` does, outside of a trio or asyncio program."""
    blocking("tell", partial(atell, run, text, kind=kind, home=home))


def answer(question: str, text: str, *, home: Home = None) -> Heard:
    """Answer a question, as `aanswer` does, outside of a trio or asyncio program."""
    return blocking("answer", partial(aanswer, question, text, home=home))


def decline(question: str, *, home: Home = None) -> Heard:
    """Decline a question, as `adecline` does, outside of a trio or asyncio program."""
    return blocking("decline", partial(adecline, question, home=home))
