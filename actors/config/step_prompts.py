"""Selects the prompt entry of a workflow's step."""

from actors.config.workflow import Workflow
from actors.files.suggestions import nearest
from actors.prompting.book import PromptBook, PromptEntry
from runtime.core.errors import UsageProblem


def entry_for(book: PromptBook, workflow: Workflow, step: str) -> PromptEntry:
    """Return a step's entry: the one that it names; if it names none, the one of its id, else the one of its role.

    Raises:
        UsageProblem: there is none; `load_workflow` has checked this for every step that calls a model.
    """
    prompt = workflow.action_pairs[step].prompt
    names = (prompt,) if prompt else tuple(filter(None, (step, workflow.role(step))))
    for name in names:
        if name in book.entries:
            return book.entries[name]
    entries = " or ".join(repr(name) for name in names)
    hint = nearest(names[0], book.entries, kind="entries")
    raise UsageProblem(f"no prompt entry {entries}", place=f"action_pairs.{step}", hint=hint)
