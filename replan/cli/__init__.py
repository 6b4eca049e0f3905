"""The command line, `replan`. What it prints and how it exits is a contract: docs/reference/cli.md."""

from collections.abc import Sequence
from typing import NoReturn

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit; `arguments` are the process's own unless given."""
    # Imported here, so that importing the package for one of its parts costs nothing.
    from replan.cli.app import app

    app.main(args=arguments, prog_name="replan")
    raise AssertionError("the application always exits")
