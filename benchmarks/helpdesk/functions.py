"""The functions that the helpdesk's tools file calls: one takes the next item of a list, one compares amounts."""

NOTHING = "-"
"""A list without items."""


async def take(workspace, items):
    """Return the first of some items and the others, or `none`."""
    del workspace
    first, _, rest = items.replace('"', "").replace(" ", "").partition(",")
    return "none" if first in ("", NOTHING) else f"first: {first}\nrest: {rest or NOTHING}"


async def reached(workspace, used, limit, extra):
    """Tell whether an amount has reached a limit and what was added to it."""
    del workspace
    return "reached" if float(used) >= float(limit) + float(extra) else "below"
