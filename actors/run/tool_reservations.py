"""What calls of tools reserve and cost in the ledger of their run. Pure."""

from actors.run.tools import ToolEvent, ToolFinished, ToolReissued, ToolRequested, Tools
from runtime.core.ledger import Amount, Ledger


def charge_event(ledger: Ledger, tools: Tools, event: ToolEvent) -> Ledger:
    """Return the ledger after an event about a call; `tools` are the calls that were open before it.

    A call that reports no cost is charged with its reservation as unknown; one that was not begun costs nothing.
    """
    match event:
        case ToolRequested() if event.micro_usd_max:
            return ledger.reserve(event.request_id, event.reserve)
        case ToolReissued() if event.again.micro_usd_max:
            return release_call(ledger, tools, event.replaces).reserve(event.again.request_id, event.again.reserve)
        case ToolFinished() if event.cost is not None and event.cost.micro_usd is not None:
            return ledger.settle(event.request_id, Amount(micro_usd=event.cost.micro_usd))
        case ToolFinished():
            return release_call(ledger, tools, event.request_id)
        case _:
            return ledger


def release_call(ledger: Ledger, tools: Tools, request_id: str) -> Ledger:
    """Return the ledger without the reservation of a call; it is charged as unknown if the call was begun."""
    if request_id not in ledger.reserved:
        return ledger
    tool = tools.get(request_id)
    return ledger.refund(request_id) if tool is None or tool.started is None else ledger.forfeit(request_id)


def release_all(ledger: Ledger, tools: Tools, left: Tools) -> Ledger:
    """Return the ledger without the reservations of the calls in `tools` that are not in `left`."""
    for name in tools.keys() - left.keys():
        ledger = release_call(ledger, tools, name)
    return ledger
