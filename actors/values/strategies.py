"""A strategy as later steps use it: its key steps with their ids, its evidence, and the type of problem it is for."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

KEY_STEPS = "key_steps"
"""The field of the key steps: texts, or objects with an `id` and a `text`."""
EVIDENCE = "evidence"
"""The optional field of the names that the strategy relies on: files, interfaces and tests that exist already."""
FOR_TYPE = "for_type"
"""The optional field of the problem type that the strategy is for."""
ITEMS_MAX = 1_000
"""The most key steps, and the most items of evidence, that are read."""


class KeyStep(NamedTuple):
    """One of the main steps of a strategy."""

    id: str
    """The id by which a plan's steps refer to it, unique within the strategy; empty for a step without an id."""
    text: str
    """What is to be done, in words."""


def key_step(item: Any) -> KeyStep | None:
    """Return the key step that an item of the list states; None for a value of another form. Never raises."""
    if isinstance(item, str):
        return KeyStep("", item) if item.strip() else None
    if not isinstance(item, Mapping):
        return None
    name, text = item.get("id"), item.get("text")
    if isinstance(name, str) and isinstance(text, str) and name.strip() and text.strip():
        return KeyStep(name.strip(), text)
    return None


def key_steps_in(strategy: Any) -> Iterator[KeyStep]:
    """Yield the key steps of a strategy's JSON object, in order; items of another form are left out. Never raises."""
    items = strategy.get(KEY_STEPS) if isinstance(strategy, Mapping) else None
    for item in items[:ITEMS_MAX] if isinstance(items, list) else ():
        step = key_step(item)
        if step is not None:
            yield step


def evidence_in(strategy: Any) -> Iterator[str]:
    """Yield the names that a strategy's JSON object relies on, in order; other values are left out. Never raises."""
    items = strategy.get(EVIDENCE) if isinstance(strategy, Mapping) else None
    for item in items[:ITEMS_MAX] if isinstance(items, list) else ():
        if isinstance(item, str) and item.strip():
            yield item
