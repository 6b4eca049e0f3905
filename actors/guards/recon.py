"""`recon_valid`: what was extracted from the problem's text stands in it, word for word.

White space is folded before the comparison. A quote must stand in the specification or in what the user has said.
Files, interfaces and tests are names, so one that is not there was invented: an error. The other lists may sum up what
the text says, so they only warn.
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
ITEMS_MAX = 1000  # items of one list; each is sought in the whole text, so their number bounds the guard's time


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard; it has no settings."""
    check_settings(NAME, config, ())

    def guard(artifact: Artifact, context: Context) -> Verdict:
        fields = Fields(NAME, artifact)
        texts = [folded(text) for text in context.said]
        items = 0
        for key in RECON_LISTS:
            found = fields.texts(key)
            items += len(found)
            if len(found) > ITEMS_MAX:
                message = f"{key} has {len(found)} items; at most {ITEMS_MAX} will do"
                fields.check([Finding(code=Code.TYPE, message=message, where=key)])
            elif found:
                fields.check(_not_in_text(key, found, texts))
        if fields.values is not None and not items:
            message = "nothing was found in the problem's text; every list is empty"
            fields.check([Finding(code=Code.NOTHING_FOUND, message=message, severity="warning")])
        return fields.verdict()

    return guard


def _not_in_text(key: str, items: list[tuple[int, str]], texts: list[str]) -> list[Finding]:
    return [
        Finding(
            code=Code.NOT_IN_TEXT,
            message=f"{key}[{place}] {shown(item)} does not stand in the problem's text; quote it as written there",
            where=f"{key}[{place}]",
            severity="error" if key in LITERAL else "warning",
            tokens=(item,),
        )
        for place, item in items
        if not any(folded(item) in text for text in texts)
    ]
