"""Withdrawing the open work of a run: its calls, its tools and its waits. Pure."""

from collections.abc import Collection

from actors.run import calls, tool_reservations, tools, waits
from actors.run.calls import C
from actors.run.state import RunState
from runtime.core.copies import changed


def without_work(run: RunState[C], nodes: Collection[str]) -> RunState[C]:
    """Return the common part of a run without the open work for some nodes; reservations are charged as unknown.

    A call of a tool that is not repeatable stays open, and runs to its end.
    """
    open_calls, ledger = calls.withdraw_calls(run.calls, run.ledger, nodes)
    left = tools.withdraw_calls(run.tools, nodes)
    ledger = tool_reservations.release_all(ledger, run.tools, left)
    return changed(
        run,
        calls=open_calls,
        ledger=ledger,
        tools=left,
        waits=waits.withdraw_waits(run.waits, nodes),
    )
