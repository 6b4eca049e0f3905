"""Handing a new run to a host, and saying how to follow it."""

from collections.abc import Awaitable, Callable

from replan.cli.drive import Foreground, print_result
from replan.cli.exits import Exit
from replan.cli.hints import hosted_run
from replan.cli.home import opened
from replan.cli.terminal.console import ignoring_closed_stdout, print_text
from replan.runs.engine import Engine
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem
from runtime.process.identity import is_dead


async def detach(
    options: Foreground, run: str, kind: str, admit: Callable[[Engine], Awaitable[object]], *, make: bool
) -> int:
    """Have a new run of a kind admitted for a host, and print its id. Raises `UsageProblem` where no host is there."""
    async with opened(options.invocation) as engine:
        await _require_host(engine, kind)  # Before a missing home is created.
    async with opened(options.invocation, make=make) as engine:
        await admit(engine)
        options.invocation.run = run
        if options.as_json:
            print_result(await engine.kind_of(run), await engine.result(run), as_json=True)
        else:
            with ignoring_closed_stdout():
                print_text(f"{run}\n")
    hosted_run(run)
    return Exit.OK


async def _require_host(engine: Engine, name: str) -> None:
    kind = engine.kinds.named(name)
    if not await engine.hosted(kind.name, kind.format):
        hint = f"start one with `{program()} host`, or leave --detach out"
        others = await engine.journal.hosts(dead=is_dead)
        cause = f"no host that is running drives runs of kind {name!r}" if others else "no host is running"
        raise UsageProblem(cause, place="--detach", hint=hint)
