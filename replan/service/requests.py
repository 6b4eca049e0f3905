"""One request of a program, whichever way it came."""

from dataclasses import dataclass
from typing import Any

from replan.service.access import Principal
from replan.service.problems import Terms
from replan.service.service import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRequest:
    """A checked request of a program."""

    service: Service
    """The server."""
    who: Principal
    """Who asks."""
    terms: Terms
    """How it came, and what its clients call things."""
    run: str = ""
    """The id of the run that it is about; empty for none."""
    question: str = ""
    """The id of the question that it is about, as RUN/QUESTION; empty for none."""
    body: Any = None
    """What was sent, as the operation's model of it."""
    key: str = ""
    """The hash of its idempotency key; empty for none."""
