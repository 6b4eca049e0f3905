"""`recon_valid`: every item extracted from the problem's text occurs in it literally, apart from white space.

A name or quote that does not occur in the text is invented. An invented item is a warning, and later steps do not see
it (`normalise_artifact`). An artifact with only invented items is rejected, but only once in a run, because a third
attempt would hardly be better. Other lists can be summaries, so their items are never removed.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

from actors.guards.fields import RECON_LISTS, Fields, fold_space, quote_text, without_settings
from actors.values.artifacts import Artifact, Context, format_json
from actors.values.findings import Code, Finding, Verdict
from actors.values.requirements import own_ids, requirement_to_json, requirements_in
from runtime.models.replies import Parsed

NAME = "recon_valid"
LITERAL = frozenset({"mentioned_files", "apis_involved", "test_references"})
"""The keys of the recon artifact's lists whose items are names."""
REQUIREMENTS = "requirements"
"""The key of the recon artifact's list of stated requirements, which may be empty. Its items are objects with `kind`,
`text`, `quote` and
`source`."""
ITEMS_MAX = 1000
SEARCH_MAX = 300_000_000
"""The largest number of characters that one guard's searches read altogether. Reading them takes about a second. Each
item is searched for in all texts.
"""

_PLACE = re.compile(r"(\w+)\[(\d+)\]$")


def _judge_recon(artifact: Artifact, context: Context) -> Verdict:
    fields = Fields(NAME, artifact)
    search = ItemSearch(context)
    lists = {key: fields.texts(key) for key in RECON_LISTS}
    quotes = list(_quotes(fields))
    every = (*lists.values(), quotes)
    rejects = Code.NOT_IN_TEXT not in context.rejected_for and not any(
        search.finds(item) for items in every for _, item in items[:ITEMS_MAX]
    )
    for key, listed in lists.items():
        if len(listed) > ITEMS_MAX:
            message = f"{key} has {len(listed)} items; at most {ITEMS_MAX} are allowed"
            fields.check([Finding(code=Code.TYPE, message=message, where=key)])
        elif listed:
            fields.check(_check_items(key, listed, search, rejects=key in LITERAL and rejects))
    if quotes:
        fields.check(_check_items(REQUIREMENTS, quotes[:ITEMS_MAX], search, rejects=rejects))
    if fields.values is not None and not any(lists.values()) and not quotes:
        message = "every list is empty, so nothing was found in the problem's text"
        fields.check([Finding(code=Code.NOTHING_FOUND, message=message, severity="warning")])
    return fields.verdict()


def _quotes(fields: Fields) -> Iterator[tuple[int, str]]:
    value = fields.read_list(REQUIREMENTS)
    for index, item in enumerate(value):
        requirement = next(requirements_in([item]), None)
        where = f"{REQUIREMENTS}[{index}]"
        if requirement is None:
            message = f"{where} must have a kind, a text, a quote and a source; this requirement is left out"
            fields.check([Finding(code=Code.TYPE, message=message, where=where, severity="warning")])
        else:
            yield index, requirement.quote


class ItemSearch:
    """Searches for items in the texts of the user. All searches together read at most `SEARCH_MAX` characters."""

    def __init__(self, context: Context) -> None:
        self._texts = [fold_space(text) for text in context.user_texts]
        self._cost = sum(len(text) + 100 for text in self._texts)
        self._left = SEARCH_MAX
        self._results: dict[str, bool] = {}

    def finds(self, item: str) -> bool | None:
        """Return whether the item occurs in at least one text; None if the limit prevents the search."""
        result = self._results.get(item)
        if result is None and self._left >= self._cost:
            self._left -= self._cost
            wanted = fold_space(item)
            result = self._results[item] = any(wanted in text for text in self._texts)
        return result


def _check_items(key: str, items: list[tuple[int, str]], search: ItemSearch, *, rejects: bool) -> Iterator[Finding]:
    """Yield a finding for each item that occurs in no text: an error if `rejects`, otherwise a warning.

    If the search reaches its limit, the last finding says which items were not checked.
    """
    advice = "quote the text exactly"
    if not rejects and key in {*LITERAL, REQUIREMENTS}:
        advice = "the item is left out"
    for index, item in items:
        occurs = search.finds(item)
        if occurs is None:
            message = (
                f"{key}[{index}] and later items were not checked: the lists are too long for a text of this length"
            )
            yield Finding(code=Code.TOO_LARGE, message=message, where=key)
            return
        if not occurs:
            yield Finding(
                code=Code.NOT_IN_TEXT,
                message=f"{key}[{index}] {quote_text(item)} is not in the problem's text; {advice}",
                where=f"{key}[{index}]",
                severity="error" if rejects else "warning",
                tokens=(item,),
            )


def normalise_artifact(artifact: Artifact, findings: Collection[Finding]) -> Artifact:
    """Return the artifact for later steps: without invented items, and with generated ids for its requirements.

    `findings` are the findings of the verdict that accepted the artifact. If nothing changes, the same artifact is
    returned.
    """
    parsed = artifact.value
    value = parsed.value if isinstance(parsed, Parsed) else None
    if not isinstance(value, dict) or not (findings or REQUIREMENTS in value):
        return artifact
    invented = frozenset(finding.where for finding in findings if finding.code == Code.NOT_IN_TEXT)
    return _normalise_recon(artifact, invented) if invented or REQUIREMENTS in value else artifact


@lru_cache(maxsize=64)  # The same artifact is shown in many prompts.
def _normalise_recon(artifact: Artifact, invented: frozenset[str]) -> Artifact:
    assert isinstance(artifact.value, Parsed)
    value: dict[str, Any] = dict(artifact.value.value)
    places: dict[str, set[int]] = {}
    for where in invented:
        match = _PLACE.match(where)
        if match and match[1] in {*LITERAL, REQUIREMENTS}:
            places.setdefault(match[1], set()).add(int(match[2]))
    for key, dropped in places.items():
        if isinstance(value.get(key), list):
            value[key] = [item for index, item in enumerate(value[key]) if index not in dropped]
    if REQUIREMENTS in value:
        names = own_ids(value[REQUIREMENTS])
        value[REQUIREMENTS] = [
            _rename_ids(requirement_to_json(item), "depends_on", names) for item in requirements_in(value[REQUIREMENTS])
        ]
        if isinstance(value.get("steps"), list):
            value["steps"] = [_rename_ids(step, "satisfies", names) for step in value["steps"]]
    if value == artifact.value.value:
        return artifact
    return artifact.with_content(format_json(value))


def _rename_ids(value: Any, key: str, names: Mapping[str, str]) -> Any:
    """Return the object `value` with other ids in its list `key`.

    If `value` is not an object with such a list, return it unchanged. `names` maps the ids that the model chose to ids
    that are computed from quotes.
    """
    if not isinstance(value, Mapping) or not isinstance(listed := value.get(key), list | tuple):
        return value
    return {**value, key: [names.get(name, name) if isinstance(name, str) else name for name in listed]}


make = without_settings(NAME, _judge_recon)
