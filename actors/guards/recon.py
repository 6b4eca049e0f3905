"""`recon_valid`: every item extracted from the problem's text occurs in it literally.

White space is folded before the comparison. An item must occur in the specification or in another text of the user.
Files, APIs and tests are names, so an item of these lists that does not occur is invented, which is an error. The items
of the other lists may be summaries, so for them it is a warning.
"""

from collections.abc import Iterator, Mapping
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
"""The most items of one list."""
SEARCH_MAX = 300_000_000
"""Characters that all searches together go through: each item is searched for in all texts. About a second."""


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard; it has no settings."""
    check_settings(NAME, config, ())

    def guard(artifact: Artifact, context: Context) -> Verdict:
        fields = Fields(NAME, artifact)
        search = _Search(context)
        items = 0
        for key in RECON_LISTS:
            listed = fields.texts(key)
            items += len(listed)
            if len(listed) > ITEMS_MAX:
                message = f"{key} has {len(listed)} items; at most {ITEMS_MAX} will do"
                fields.check([Finding(code=Code.TYPE, message=message, where=key)])
            elif listed:
                fields.check(_not_in_text(key, listed, search))
        if fields.values is not None and not items:
            message = "nothing was found in the problem's text; every list is empty"
            fields.check([Finding(code=Code.NOTHING_FOUND, message=message, severity="warning")])
        return fields.verdict()

    return guard


class _Search:
    """Searches for items in the texts of the user, up to `SEARCH_MAX`."""

    def __init__(self, context: Context) -> None:
        self._texts = [folded(text) for text in context.user_texts]
        self._cost = sum(len(text) + 100 for text in self._texts)
        self._left = SEARCH_MAX
        self._results: dict[str, bool] = {}

    def finds(self, item: str) -> bool | None:
        """Return whether the item occurs in a text; None when the limit is reached."""
        found = self._results.get(item)
        if found is None and self._left >= self._cost:
            self._left -= self._cost
            wanted = folded(item)
            found = self._results[item] = any(wanted in text for text in self._texts)
        return found


def _not_in_text(key: str, items: list[tuple[int, str]], search: _Search) -> Iterator[Finding]:
    """Yield a finding for each item that does not occur, and one for a list that was not searched to its end."""
    for index, item in items:
        found = search.finds(item)
        if found is None:
            message = f"{key} was searched up to item {index}: the lists are too long for a text of this length"
            yield Finding(code=Code.TOO_LARGE, message=message, where=key)
            return
        if not found:
            yield Finding(
                code=Code.NOT_IN_TEXT,
                message=f"{key}[{index}] {shown(item)} does not stand in the problem's text; quote it as written there",
                where=f"{key}[{index}]",
                severity="error" if key in LITERAL else "warning",
                tokens=(item,),
            )
