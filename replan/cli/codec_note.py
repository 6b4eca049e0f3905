"""The notice that a run begins without what the codec of the journal's new runs lacks."""

from actors.run.kind import PreparedRun
from replan.cli.terminal.console import notice
from replan.runs.codec_check import codec_notices
from replan.runs.engine import Engine


async def note_codec(engine: Engine, prepared: PreparedRun) -> None:
    """Tell the user if a run that may begin is changed to fit the codec of the journal's new runs."""
    for line in await codec_notices(engine.journal, engine.kinds.named(prepared.kind), prepared):
        notice(line)
