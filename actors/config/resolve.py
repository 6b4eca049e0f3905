"""Finds and loads workflows: a shipped name, an older name for one, or a path.

Shipped data lies under a root folder that the caller knows: `configs/workflows/NAME.yaml` and `prompts/NAME.yaml`. What
has a path separator or one of the suffixes is a path; a shipped name comes before a file of the same name. A relative
path to prompts counts from the workflow's own folder. A `.json` workflow that names no prompts takes the `prompts.json`
beside it, as AtomicGuard's own examples do.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from actors.config.atomicguard import is_foreign, translate
from actors.config.plan_files import with_plan_files
from actors.config.step_prompts import entry_for
from actors.config.workflow import Workflow
from actors.files.explain import explain, nearest
from actors.files.yaml_document import Document, read_document
from actors.policy.cause import CLASSIFIER
from actors.policy.table import Policy
from actors.prompting.book import PromptBook, load_prompts
from runtime.core.errors import UsageProblem

ALIASES: Mapping[str, str] = {"full": "linear", "classify-then-plan": "option_a"}
"""The names that the seeds' pipelines have in their own evaluation."""

FROM_HERE = "a path counts from the folder of this file"
"""What to think of where a file that a workflow names is not there."""

_SUFFIXES = (".yaml", ".yml", ".json")
_PROMPTS_SHARED = "planning"
"""The shipped prompts file whose sections serve the files that have none."""


@dataclass(frozen=True, slots=True)
class LoadedWorkflow:
    """A workflow with its prompts: `source` is its file, `notices` a line each for a user, `document` has the lines.

    `children` are the workflows that steps run (`generator: workflow:NAME`), by name, once they are checked. `missing`
    is what a file of AtomicGuard needs before it can run: a phrase for each prompt entry that is not there.
    """

    workflow: Workflow
    prompts: PromptBook
    source: str
    notices: tuple[str, ...]
    document: Document
    children: Mapping[str, tuple["LoadedWorkflow", Policy]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def resolved(self, policy: Mapping[str, Any]) -> dict[str, Any]:
        """Return all that a run pins, as plain data for `content_ref`; the order of steps counts, so it is a list."""
        return {
            "workflow": self.workflow.model_dump(mode="json"),
            "steps": list(self.workflow.action_pairs),
            "prompts": self.prompts.model_dump(mode="json"),
            "policy": policy,
        }


def shipped_workflows(root: Path) -> tuple[str, ...]:
    """Return the names of the shipped workflows, sorted."""
    return tuple(sorted(path.stem for path in (root / "configs" / "workflows").glob("*.yaml")))


def read_workflow(name_or_path: str, root: Path) -> tuple[Workflow, Document, tuple[str, ...]]:
    """Return a workflow without its prompts, its document and notices.

    Raises:
        UsageProblem: there is no such workflow, or it is not sound.
    """
    path = find_shipped(ALIASES.get(name_or_path, name_or_path), root / "configs" / "workflows", "workflow", ALIASES)
    document, notices = translate(read_document(path))
    try:
        return Workflow.model_validate(document.value), document, notices
    except ValidationError as error:
        raise explain(error, document) from None


def load_workflow(name_or_path: str, root: Path) -> LoadedWorkflow:
    """Return a workflow with its prompts and plan files, checked: every step that calls a model has an entry.

    Raises:
        UsageProblem: as `read_workflow`, or the prompts or plan files are missing or not sound.
    """
    return with_prompts(*read_workflow(name_or_path, root), root)


def with_prompts(workflow: Workflow, document: Document, notices: tuple[str, ...], root: Path) -> LoadedWorkflow:
    """Return what `load_workflow` does, for a workflow that has been read."""
    book, told = _book(workflow, document, root)
    workflow = with_plan_files(workflow, document, Path(document.source).parent)
    loaded = LoadedWorkflow(workflow, book, document.source, (*notices, *told), document)
    for step in workflow.order():
        if not workflow.is_deterministic(step):
            loaded = _with_entry(loaded, step)
    if workflow.classifications_max and CLASSIFIER not in book.entries:
        cause, hint = f"no prompt entry {CLASSIFIER!r}", nearest(CLASSIFIER, book.entries, kind="entries")
        raise document.problem(cause, ("classifications_max",), hint)
    return loaded


def _book(workflow: Workflow, document: Document, root: Path) -> tuple[PromptBook, tuple[str, ...]]:
    """Return a workflow's prompts and notices."""
    shared = root / "prompts" / f"{_PROMPTS_SHARED}.yaml"
    book, notices = load_prompts(find_named(workflow.prompts, root / "prompts", "prompts", document), shared)
    beside = Path(document.source).parent / "prompts.json"
    if "prompts" in document.value or not document.source.endswith(".json") or not beside.is_file():
        return book, notices
    own, told = load_prompts(beside, shared)
    used = f"{document.source}: {beside} is used, and the shipped prompts where it has none"
    return own.model_copy(update={"entries": {**book.entries, **own.entries}}), (*notices, used, *told)


def _with_entry(loaded: LoadedWorkflow, step: str) -> LoadedWorkflow:
    """Return the workflow if it has a step's prompt, or says that it misses it. Raises `UsageProblem`."""
    try:
        entry_for(loaded.prompts, loaded.workflow, step)
    except UsageProblem as problem:
        if is_foreign(loaded.document):
            return replace(loaded, missing=(*loaded.missing, f"a prompt for {step!r}"))
        raise loaded.document.problem(problem.cause, ("action_pairs", step), problem.hint) from None
    return loaded


def find_named(wanted: str, shipped: Path, kind: str, document: Document) -> Path:
    """Return the file that a workflow's key `kind` names. Raises `UsageProblem` that stands at the key."""
    try:
        path = find_shipped(wanted, shipped, kind, (), Path(document.source).parent)
    except UsageProblem as problem:
        raise document.problem(problem.cause, (kind,), problem.hint) from None
    if not path.exists():
        raise document.problem(f"no such file {str(path)!r}", (kind,), FROM_HERE)
    return path


def find_shipped(
    wanted: str, shipped: Path, kind: str, others: Mapping[str, str] | tuple[()], folder: Path = Path()
) -> Path:
    """Return the file that a name or path means."""
    if os.sep in wanted or "/" in wanted or wanted.endswith(_SUFFIXES):
        return folder / Path(wanted).expanduser()
    path = shipped / f"{wanted}.yaml"
    if path.is_file():
        return path
    if (folder / wanted).is_file():
        return folder / wanted
    names = [*(found.stem for found in shipped.glob("*.yaml")), *others]
    raise UsageProblem(f"unknown {kind} {wanted!r}", hint=nearest(wanted, names, kind="shipped"))
