"""Adapts new runs to a journal's codec; refuses those that need a later one (docs/explanation/versions.md)."""

from typing import Any

from actors.run.kind import Kind, PreparedRun
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem
from runtime.journal.port import Journal
from runtime.journal.versions import CODEC, FIRST_CODEC


async def fitted(journal: Journal[Any], kind: Kind[Any, Any], prepared: PreparedRun) -> PreparedRun:
    """Return a run that may begin, without what the codec of the journal's new runs lacks (see `Kind.in_codec`)."""
    floor = await journal.floor()
    made: PreparedRun = prepared if floor >= CODEC else kind.in_codec(prepared, floor)
    return made


async def codec_notices(journal: Journal[Any], kind: Kind[Any, Any], prepared: PreparedRun) -> tuple[str, ...]:
    """Return a line for the user if the codec of the journal's new runs changes how a run decides."""
    if await fitted(journal, kind, prepared) is prepared:
        return ()
    floor = await journal.floor()
    text = f"new runs of this journal have codec {floor}, which has no beliefs, so the rows of the policy decide"
    return (f"{text} (`{program()} journal upgrade` raises the codec)",)


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
