"""`version`: prints the version of the program."""

import platform

from replan.cli.exits import Exit
from replan.cli.terminal.plain import print_json, print_text
from replan.setup.version import release


def print_version(*, as_json: bool) -> int:
    """Print the version, as one line or as an object. Return the exit code."""
    if as_json:
        from runtime.journal.versions import VERSION

        print_json({"version": release(), "python": platform.python_version(), "journal": VERSION})
    else:
        print_text(f"replan {release()}\n")
    return Exit.OK
