"""Checks that a journal's new runs can hold what a run's configuration asks for (docs/explanation/versions.md)."""

from typing import Any

from replan.setup.command_name import program
from runtime.core.errors import UsageProblem
from runtime.journal.port import Journal
from runtime.journal.versions import FIRST_CODEC


async def check_codec(journal: Journal[Any], needed: int) -> None:
    """Raise `UsageProblem` where new runs are written in an earlier codec than a run needs.

    The floor only rises, so what is allowed here is allowed when the run is created.
    """
    if needed == FIRST_CODEC:
        return
    floor = await journal.floor()
    if floor < needed:
        cause = f"a policy of beliefs needs codec {needed}, and new runs of this journal are written in codec {floor}"
        hint = f"`{program()} journal upgrade` raises it, once every program that uses the journal is of this release"
        raise UsageProblem(cause, place="policy", hint=hint)
