"""A made-up release whose journals have version 2: its step adds a column to the runs of each store."""

from contextlib import contextmanager

import pytest

from runtime.journal import port


@contextmanager
def release_two(schema, step):
    """Let what is opened within a `with` block be of that release; `schema` is a store's, `step` a statement."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (port, schema):
            patch.setattr(module, "VERSION", 2)
        patch.setattr(schema, "UPGRADES", (*schema.UPGRADES, (step,)))
        yield


def everything(journal):
    """Return a call for each method of a journal that reads or writes something about runs and hosts."""
    return [
        lambda: journal.create("b", "", "planning"),
        lambda: journal.row("a"),
        lambda: journal.read("a"),
        lambda: journal.inbox("a"),
        lambda: journal.claim("a", "driver", 60.0),
        lambda: journal.renew("a", 1, 60.0),
        lambda: journal.release("a", 1),
        lambda: journal.post("a", "late", "body"),
        lambda: journal.delete({"a": 1}),
        lambda: journal.due(10),
        lambda: journal.announce("host", "process 1", 30.0),
        journal.hosts,
        journal.spent_today,
    ]
