"""Finds the caller's event loop. Makes the blocking variant of an async API function."""

import inspect
import sys
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial, wraps
from typing import Any, Literal, ParamSpec, TypeVar, get_args, get_type_hints

import trio

from actors.run.limits import LIMITS
from runtime.core.errors import UsageProblem

P = ParamSpec("P")
T = TypeVar("T")

Loop = Literal["trio", "asyncio"]


def running_loop() -> Loop | None:
    """Return the library of the caller's event loop: `trio` or `asyncio`; None if no event loop is running.

    In a trio task, return `trio`, even if trio runs as a guest of asyncio.
    """
    if trio.lowlevel.in_trio_task():
        return "trio"
    return "asyncio" if _in_asyncio() else "trio" if trio.lowlevel.in_trio_run() else None


def _in_asyncio() -> bool:
    events: Any = sys.modules.get("asyncio.events")  # A program that has not loaded the library has no such loop.
    return events is not None and events._get_running_loop() is not None  # noqa: SLF001 - documented for such use


async def run_in_any_loop(work: Callable[[], Awaitable[T]]) -> T:
    """Await `work`, which is written for trio, and return its value.

    If the caller runs in asyncio, `work` runs in the trio thread.
    """
    if running_loop() != "asyncio":
        return await work()
    from replan.api.trio_thread import run_in_trio_thread  # noqa: PLC0415 - a trio program needs no thread

    return await run_in_trio_thread(work)


def blocking_form(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Return the blocking variant of an API function, for programs without an event loop.

    The variant has the name of `function` without the first letter, `a`. If an event loop is running in this thread,
    the variant raises `UsageProblem`, which names the function to await.
    """
    name = function.__name__[1:]

    @wraps(function)
    def run_in_trio(*arguments: P.args, **keywords: P.kwargs) -> T:
        loop = running_loop()
        if loop is not None:
            hint = f"await replan.a{name}(...)"
            raise UsageProblem(f"{name}() would block this {loop} program", place=name, hint=hint)
        return trio.run(partial(function, *arguments, **keywords))

    run_in_trio.__name__ = run_in_trio.__qualname__ = name
    run_in_trio.__doc__ = (function.__doc__ or "").replace("in trio or in asyncio", "without an event loop")
    return run_in_trio


def name_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function with a signature that names each key of `T` instead of the parameter `**options: Unpack[T]`.

    Limits come last. The default is False for a bool, 0 for an int and "" for a str; all other defaults are None. The
    function raises `TypeError` for a keyword that its signature lacks.
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


def copy_parameters(other: Callable[P, Any]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Return a decorator that gives a function the parameters of another function, for type checkers and `help`."""

    def decorate(function: Callable[..., T]) -> Callable[P, T]:
        signature = inspect.signature(other)
        returned = inspect.signature(function).return_annotation
        vars(function)["__signature__"] = signature.replace(return_annotation=returned)
        return function

    return decorate
