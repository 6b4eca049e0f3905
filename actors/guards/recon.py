"""`recon_valid`: every item extracted from the problem's text occurs in it literally.

White space is folded before the comparison. An item must occur in the specification or in another text of the user.
Files, APIs and tests are names, so an item of these lists that does not occur is invented, which is an error. The items
of the other lists may be summaries, so for them it is a warning.
"""

from collections.abc import Mapping
from typing import Any

from actors.guards.fields import Fields, check_settings, folded, shown
from actors.guards.port import Guard
from actors.guards.shapes import RECON_LISTS
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict

NAME = "recon_valid"
LITERAL = frozenset({"mentioned_files", "apis_involved", "test_references"})
"""The lists whose items are names."""
ITEMS_MAX = 1000
"""The most items of one list. Each item is searched for in the whole text, so this bounds the guard's time."""


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard; it has no settings."""
    check_settings(NAME, config, ())

    def guard(artifact: Artifact, context: Context) -> Verdict:
        fields = Fields(NAME, artifact)
        texts = [folded(text) for text in context.said]
        items = 0
        for key in RECON_LISTS:
            listed = fields.texts(key)
            items += len(listed)
            if len(listed) > ITEMS_MAX:
                message = f"{key} has {len(listed)} items; at most {ITEMS_MAX} will do"
                fields.check([Finding(code=Code.TYPE, message=message, where=key)])
            elif listed:
                fields.check(_not_in_text(key, listed, texts))
        if fields.values is not None and not items:
            message = "nothing was found in the problem's text; every list is empty"
            fields.check([Finding(code=Code.NOTHING_FOUND, message=message, severity="warning")])
        return fields.verdict()

    return guard


def _not_in_text(key: str, items: list[tuple[int, str]], texts: list[str]) -> list[Finding]:
    return [
        Finding(
            code=Code.NOT_IN_TEXT,
            message=f"{key}[{index}] {shown(item)} does not stand in the problem's text; quote it as written there",
            where=f"{key}[{index}]",
            severity="error" if key in LITERAL else "warning",
            tokens=(item,),
        )
        for index, item in items
        if not any(folded(item) in text for text in texts)
    ]
