"""Starts a new run, in this process or in a host that serves the home."""

import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from actors.config.model_spec import ReplaySpec
from actors.planning.config import RunConfig
from actors.planning.prepare import RunRequest
from actors.run.kind import PreparedRun
from actors.run.result import RunResult
from actors.values.lines import columns, line
from replan.cli.drive import drive_to_rest, print_result, show_result
from replan.cli.exits import Exit
from replan.cli.hints import say_how_to_follow
from replan.cli.home import open_engine
from replan.cli.options import Invocation
from replan.cli.terminal.console import ignore_closed_stdout, notice, print_json, print_text, show
from replan.runs.engine import Engine
from replan.runs.prepare import Prepared
from replan.runs.reader import new_run_id
from replan.runs.shipped_examples import ShippedExample, example_named
from replan.runs.worst_case import cost_of, cost_of_run, cost_texts
from replan.setup.home_folder import locate_home
from replan.setup.installation import program, tune
from runtime.core.errors import UsageProblem
from runtime.drive.options import ignore
from runtime.process.identity import is_dead


async def start_run(
    invocation: Invocation,
    prepared: Prepared[PreparedRun],
    *,
    engine: Engine | None = None,
    detach: bool = False,
    ended: Callable[[RunResult], None] = ignore,
) -> int:
    """Start a run, and return the exit code. If a host serves the home, it drives the run; otherwise this process does.

    With `detach`, a host must serve the home, and this function returns at once. `engine` is the engine of the home if
    the home is already open. `ended` is called with the run's result after the result is printed. For a detached run,
    `ended` is not called. Raises `UsageProblem` if the model cannot be opened, or if another execution works in the
    workspace of the run.
    """
    prepared.check_model()
    run, request = new_run_id(), prepared.request
    make = not isinstance(prepared.choice.spec, ReplaySpec)  # A replay reads a run of the home.
    if detach:
        return await _detach(invocation, request, run, make=make)
    tune()
    opened = open_engine(invocation, make=make, drives=True) if engine is None else nullcontext(engine)
    async with opened as home:
        if (folder := _workspace(request)) is not None:
            from replan.runs.executing import ensure_unused

            await ensure_unused(home, folder, locate_home().folder)
        kind, admit = home.kinds.named(request.kind), partial(_admit, home, request, run)
        result, signals = await drive_to_rest(
            home, run, invocation, kind=kind, title=request.title, new=request, admit=admit
        )
        code = await show_result(home, kind, result, signals, invocation)
    ended(result)
    return code


def take_example(name: str, values: dict[str, Any], *, recorded: bool, dry_run: bool, quiet: bool) -> ShippedExample:
    """Return a shipped example, and set the options for its tools and its workspace. A dry run copies nothing.

    Without `quiet`, a notice says where the project is. With `recorded`, the notice also says that the model's replies
    come from a file.

    Raises `UsageProblem` if its project cannot be copied.
    """
    example = example_named(name)
    own, folders = str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)
    if own not in folders.split(os.pathsep):  # Its tools find the programs of this environment, activated or not.
        os.environ["PATH"] = os.pathsep.join((own, folders))
    target = Path(values["workspace"] or f"replan-{name}")
    if dry_run:
        target = example.folder / "project"
    else:
        example.copy_project(target)
        if not quiet:
            replies = "; the model's replies come from a file" if recorded else ""
            notice(f"the project is in {target}{replies}")
    values["tools"], values["workspace"] = values["tools"] or example.tools, str(target)
    return example


async def _detach(invocation: Invocation, request: PreparedRun, run: str, *, make: bool) -> int:
    async with open_engine(invocation) as engine:
        await require_host(engine, request.kind)  # Before a missing home is created.
    async with open_engine(invocation, make=make) as engine:
        await _admit(replace(engine, asks=not invocation.no_input), request, run)
        invocation.run = run
        if invocation.json:
            print_result(await engine.kind_of(run), await engine.result(run), as_json=True)
        else:
            with ignore_closed_stdout():
                print_text(f"{run}\n")
    say_how_to_follow(run)
    return Exit.OK


async def _admit(engine: Engine, request: Any, run: str) -> None:
    if _workspace(request) is None:
        await engine.admit(request, run=run)
    else:
        from replan.runs.executing import admit_alone

        await admit_alone(engine, request, run, locate_home().folder)


def _workspace(request: Any) -> Path | None:
    return Path(request.config.workspace) if request.kind == "execution" else None


async def require_host(engine: Engine, name: str) -> None:
    """Raise `UsageProblem` if no running host drives runs of the kind with this name."""
    kind = engine.kinds.named(name)
    if not await engine.has_host(kind.name, kind.format):
        hint = f"start a host with `{program()} host`, or leave --detach out"
        others = await engine.journal.hosts(dead=is_dead)
        cause = f"no running host drives runs of kind {name!r}" if others else "no host is running"
        raise UsageProblem(cause, place="--detach", hint=hint)


def print_dry_run(prepared: Prepared[RunRequest], *, as_json: bool) -> int:
    """Print what the run can cost, and return the exit code.

    Raises `UsageProblem` for settings that the run cannot use.
    """
    prepared.check_settings()
    _print_cost(cost_of_run(prepared.request), as_json=as_json)
    return Exit.OK


def print_cost_of(pinned: RunConfig, *, as_json: bool) -> None:
    """Print what a run with this configuration can cost, whatever its problem is."""
    _print_cost(cost_of(pinned), as_json=as_json)


def _print_cost(cost: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(cost)
        return
    show(columns(f"{name:<8}", line(text), hang=10) for name, text in _cost_rows(cost))


def _cost_rows(cost: dict[str, Any]) -> list[tuple[str, str]]:
    texts = cost_texts(cost)
    return [
        ("workflow", f"{cost['workflow']} ({', '.join(cost['steps'])})"),
        ("search", _cost_search(cost)),
        ("model", _cost_models(cost)),
        ("at best", texts["best"]),
        ("at worst", texts["worst"]),
        ("money", texts["money"]),
    ]


def _cost_models(cost: dict[str, Any]) -> str:
    own = (f"{model} for {step}" for step, model in cost.get("step_models", {}).items())
    return ", ".join((str(cost["model"]), *own))


def _cost_search(cost: dict[str, Any]) -> str:
    name = str(cost["search"]).replace("_", "-")
    return name if cost["branches_max"] == 1 else f"{name}, {cost['branches_max']} branches at most"
