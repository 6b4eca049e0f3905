"""The way in: from `replan run` to the first record, an order is prepared and begun by few functions in few files."""

import dataclasses
import functools
import re
import sys
from pathlib import Path
from types import FunctionType, MethodType

from pydantic import BaseModel

import replan as library
from actors.run.machine import RunMachine

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = tuple(f"{ROOT / name}/" for name in ("replan", "actors", "runtime", "packages"))
PROBLEM = "# The login fails\n\nThe login fails with a timeout when the quokka store is slow.\n"
MARK = "quokka"
"""A word of the problem. A value that has it in a text holds the problem."""
DEPTH = 6
"""How deep values within values are searched for the problem."""
CALLS_MAX, FILES_MAX = 12, 20
PAGE = ROOT / "docs/reference/code.md"


class Way:
    """Watches the functions of the project until the journal is asked to create a run.

    `calls` is the stack at that moment, without the program's own `main` and `invoke`: whoever wants to know how a run
    starts reads these functions. It does not help to hide one of them in a callback or in another task's function: it
    is on the stack as well.

    `files` are the files of all functions that were handed the problem until then: as text or inside of another value,
    as an argument or as a free variable. So it makes no difference whether a function calls the next one, or returns to
    a function that calls it. Only what a machine does with its first event is left out, as it does the same in every
    later replay.
    """

    def __init__(self):
        self.calls, self.files = [], {}

    def watch(self, work, *arguments, **options):
        sys.setprofile(self._see)
        try:
            return work(*arguments, **options)
        finally:
            sys.setprofile(None)

    def _see(self, frame, event, _):
        place = _place(frame) if event == "call" else None
        if place is None:
            return
        path, function = place
        above = list(_frames_from(frame))
        if path.startswith("runtime/journal/") and function.endswith(".create"):
            sys.setprofile(None)
            stack = [found for item in above[:0:-1] if (found := _place(item))]
            self.calls = [item for item in stack if item[0] != "replan/cli/app.py"]
        elif path not in self.files and not any(_is_of_machine(item) for item in above[1:]):
            sys.setprofile(None)  # Looking at values calls functions of the project.
            if _holds_problem(tuple(frame.f_locals.values()), DEPTH):
                self.files[path] = function
            sys.setprofile(self._see)


def _place(frame):
    """Return the file and the name of a function of the project; None for any other, and for parts of functions."""
    path, name = frame.f_code.co_filename, frame.f_code.co_qualname
    return (str(Path(path).relative_to(ROOT)), name) if path.startswith(FOLDERS) and not name.endswith(">") else None


def _frames_from(frame):
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_of_machine(frame):
    return isinstance(frame.f_locals.get("self"), RunMachine)


def _holds_problem(value, depth):
    match value:
        case str():
            return MARK in value
        case bytes():
            return MARK.encode() in value
        case None | int() | float() | type():
            return False
        case _ if depth == 0:
            return False
        case dict():
            parts = value.values()
        case tuple() | list() | set() | frozenset():
            parts = value
        case functools.partial():
            parts = (value.func, value.args, value.keywords)
        case MethodType():
            parts = (value.__self__,)
        case FunctionType():
            parts = [cell.cell_contents for cell in value.__closure__ or () if cell != type(cell)()]
        case _ if dataclasses.is_dataclass(value):
            parts = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
        case _ if isinstance(value, BaseModel) or type(value).__module__.startswith(("replan", "actors", "runtime")):
            parts = _attributes(value)
        case _:
            return False
    return any(_holds_problem(part, depth - 1) for part in list(parts))


def _attributes(value):
    try:
        return object.__getattribute__(value, "__dict__").values()
    except AttributeError:
        return ()


def test_a_run_begins_after_few_calls_in_few_files(replan, problem):
    Path(problem).write_text(PROBLEM, encoding="utf-8")
    way = Way()
    assert way.watch(replan, "run", problem, "-m", "template:bug", "--no-input").exit_code == 0
    files = {*way.files, *(path for path, _ in way.calls)}
    assert 0 < len(way.calls) <= CALLS_MAX
    assert way.files
    assert len(files) <= FILES_MAX
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("## From a command to the first record\n")
    section, _, _ = rest.partition("\n## ")
    calls = re.findall(r"^\d+\. `(\S+)` `(\w+)`$", section, re.MULTILINE)
    assert calls == [(path, function.rpartition(".")[2]) for path, function in way.calls]
    assert {*re.findall(r"`([a-z_/]+\.py)`", section)} == files


def test_a_call_from_python_goes_the_same_way(replan, home, problem):
    """From the session on, the calls are those of `replan run`; and the run is prepared by the same function."""
    command, python = Way(), Way()
    Path(problem).write_text(PROBLEM, encoding="utf-8")
    command.watch(replan, "run", problem, "-m", "template:bug", "--no-input")
    python.watch(library.solve, PROBLEM, model="template:bug", home=home)
    session = ("replan/runs/session.py", "RunSession.begin")
    assert command.calls[command.calls.index(session) :] == python.calls[python.calls.index(session) :]
    prepare = "replan/runs/prepare.py"
    assert command.files[prepare] == python.files[prepare] == "prepare"
