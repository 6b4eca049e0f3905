"""The ways on which answers reach a run, and which of them lead from a person. Pure."""

import re
from enum import StrEnum

SAYS_VIA = 2
"""The codec from which on answers say on which way they came (`runtime.journal.versions`)."""

_WORD = re.compile(r"[a-z][a-z0-9_]{0,31}")


class Via(StrEnum):
    """The way on which an answer was given."""

    CLI = "cli"  # `replan answer`, or a question on the terminal
    WEB = "web"  # the web page
    ASK = "ask"  # the function that a Python program has passed to ask its user
    PYTHON = "python"  # `replan.answer`
    API = "api"
    MCP = "mcp"


PEOPLE = frozenset({Via.CLI, Via.WEB, Via.ASK})
"""The ways that lead from a person; on the others a program may decide."""


def via_of(value: object) -> str:
    """Return the way that a posted message names, also one of a later release; empty for none."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""
