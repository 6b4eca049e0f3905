"""The event loop of the caller, and the forms of a function of the API: in trio, in asyncio, and in neither."""

import inspect
import sys
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar, get_args, get_type_hints

import trio

from actors.run.limits import LIMITS
from runtime.core.errors import UsageProblem

P = ParamSpec("P")
T = TypeVar("T")

Loop = Literal["trio", "asyncio"]
"""The event loops that the API works in."""


def running_loop() -> Loop | None:
    """Return the event loop that the caller runs in, or None outside of both.

    In a trio task it is trio, also where trio is a guest of asyncio.
    """
    if trio.lowlevel.in_trio_task():
        return "trio"
    return "asyncio" if _in_asyncio() else "trio" if trio.lowlevel.in_trio_run() else None


def _in_asyncio() -> bool:
    events: Any = sys.modules.get("asyncio.events")  # A program that has not loaded it has no such loop.
    return events is not None and events._get_running_loop() is not None  # noqa: SLF001 - documented for such use


async def in_any_loop(work: Callable[[], Awaitable[T]]) -> T:
    """Do work that is written for trio: here, or, in an asyncio program, in the trio thread."""
    if running_loop() != "asyncio":
        return await work()
    from replan.api.trio_thread import in_trio_thread  # noqa: PLC0415 - a trio program needs no thread

    return await in_trio_thread(work)


def blocking(name: str, work: Callable[[], Awaitable[T]]) -> T:
    """Do work that is written for trio, and block until it is done.

    `name` is that of the function that the user called. Raises `UsageProblem`, which names the function to await, where
    an event loop runs in this thread.
    """
    loop = running_loop()
    if loop is not None:
        raise UsageProblem(f"{name}() would block this {loop} program", place=name, hint=f"await replan.a{name}(...)")
    return trio.run(work)


def name_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """Give a function whose last parameter is `**options: Unpack[T]` a signature that names each key of `T`.

    Limits stand last. The default of a switch, a number or a text is its empty value, of anything else None. The
    function refuses any other keyword.
    """
    signature = inspect.signature(function)
    *parameters, packed = signature.parameters.values()
    (keys,) = get_args(packed.annotation)
    named = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=kind() if kind in (bool, int, str) else None,
            annotation=kind,
        )
        for name, kind in sorted(get_type_hints(keys).items(), key=lambda item: item[0] in LIMITS)
    ]
    known = {parameter.name for parameter in (*parameters, *named)}

    @wraps(function)
    def checked(*arguments: P.args, **keywords: P.kwargs) -> T:
        for name in keywords:
            if name not in known:
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
        return function(*arguments, **keywords)

    vars(checked)["__signature__"] = signature.replace(parameters=[*parameters, *named])
    return checked


def same_parameters(other: Callable[P, Any]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Give a function that passes on what it gets the parameters of another, for type checkers and for `help`."""

    def decorate(function: Callable[..., T]) -> Callable[P, T]:
        signature = inspect.signature(other)
        returned = inspect.signature(function).return_annotation
        vars(function)["__signature__"] = signature.replace(return_annotation=returned)
        return function

    return decorate
