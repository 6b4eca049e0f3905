"""Finds and loads policies, and workflows with the prompts and plan files that they name.

A user names a workflow by the name of a shipped workflow, an alias or a path. A name with a path separator or one of
the suffixes `.yaml`, `.yml`, `.json` is a path. If the name is none of these, a file with this name in the current
folder is used. The caller passes the folder `root`, which has the shipped files `configs/workflows/NAME.yaml` and
`prompts/NAME.yaml`. A path to prompts is relative to the folder of the workflow's file. A `.json` workflow that names
no prompts uses the file `prompts.json` in its folder, as AtomicGuard does.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from actors.config.atomicguard import is_foreign, translate
from actors.config.plan_files import replace_plan_files
from actors.config.workflow import Workflow, find_prompt_entry
from actors.files.suggestions import nearest
from actors.files.validation_errors import ParsedFile
from actors.files.yaml_document import read_document
from actors.policy.table import CLASSIFIER, Policy
from actors.prompting.book import PromptBook, load_prompts
from runtime.core.errors import UsageProblem

RELATIVE_PATH_HINT = "write the path relative to the folder of this file"
"""The hint of the error that is raised if a workflow names a file that does not exist."""

_SUFFIXES = (".yaml", ".yml", ".json")


def find_shipped(
    name: str,
    shipped: Path,
    kind: str,
    others: Mapping[str, str] | tuple[()],
    folder: Path = Path(),
    *,
    place: str = "",
) -> Path:
    """Return the path of the file that `name`, a shipped name or a path, means.

    A relative path is relative to `folder`.

    `others` are further valid names for the hint of the error. If `name` is a path, it is returned even if no such file
    exists.

    Raises:
        UsageProblem: `name` is not a path, and no file of this name is shipped.
    """
    if os.sep in name or "/" in name or name.endswith(_SUFFIXES):
        return folder / Path(name).expanduser()
    path = shipped / f"{name}.yaml"
    if path.is_file():
        return path
    if (folder / name).is_file():
        return folder / name
    names = [*(file.stem for file in shipped.glob("*.yaml")), *others]
    raise UsageProblem(f"unknown {kind} {name!r}", hint=nearest(name, names, kind="shipped"), place=place)


def find_named(name: str, shipped: Path, kind: str, document: ParsedFile) -> Path:
    """Return the file that a workflow names in its key `kind`. Raises `UsageProblem` if the file does not exist."""
    try:
        path = find_shipped(name, shipped, kind, (), Path(document.source).parent)
    except UsageProblem as problem:
        raise document.problem(problem.cause, (kind,), problem.hint) from None
    if not path.exists():
        raise document.problem(f"no such file {str(path)!r}", (kind,), RELATIVE_PATH_HINT)
    return path


ALIASES: Mapping[str, str] = {"full": "linear", "classify-then-plan": "option_a"}
"""A mapping from each alias to the name of a shipped workflow."""

_SHARED_PROMPTS = "planning"
"""The name of the shipped prompts file whose `sections` are used by prompts files without sections of their own."""


@dataclass(frozen=True, slots=True)
class LoadedWorkflow:
    """A workflow with its prompts, child workflows and notices."""

    workflow: Workflow
    prompts: PromptBook
    source: str
    """The path of the workflow's file. Messages show it, and the run stores it."""
    notices: tuple[str, ...]
    """Lines for the user about ignored or replaced keys in the files."""
    document: ParsedFile
    """The parsed file, which gives the line numbers of later errors."""
    children: Mapping[str, tuple["LoadedWorkflow", Policy]] = field(default_factory=dict)
    """The workflows that steps run (`generator: workflow:NAME`), by name; filled by `check_workflow`."""
    missing: tuple[str, ...] = ()
    """A phrase for each prompt entry that is missing. Only a file of AtomicGuard may lack entries. The workflow cannot
    run until the user adds the entries.
    """


def shipped_workflows(root: Path) -> tuple[str, ...]:
    """Return the names of the shipped workflows, sorted."""
    return tuple(sorted(path.stem for path in (root / "configs" / "workflows").glob("*.yaml")))


def shipped_policies(root: Path) -> tuple[str, ...]:
    """Return the names of the shipped policies, sorted."""
    return tuple(sorted(path.stem for path in (root / "configs" / "policies").glob("*.yaml")))


def read_workflow(name_or_path: str, root: Path) -> tuple[Workflow, ParsedFile, tuple[str, ...]]:
    """Return a workflow that has no prompts yet, its parsed file, and notices for the user.

    Raises:
        UsageProblem: no workflow has this name, or the workflow is invalid.
    """
    path = find_shipped(ALIASES.get(name_or_path, name_or_path), root / "configs" / "workflows", "workflow", ALIASES)
    document, notices = translate(read_document(path))
    return document.read_as(Workflow), document, notices


def load_workflow(name_or_path: str, root: Path) -> LoadedWorkflow:
    """Return a workflow with its prompts and plans. The prompts have an entry for every step that calls a model.

    Raises:
        UsageProblem: a workflow, its prompts or its plan files are missing or invalid.
    """
    return add_prompts(*read_workflow(name_or_path, root), root)


def add_prompts(workflow: Workflow, document: ParsedFile, notices: tuple[str, ...], root: Path) -> LoadedWorkflow:
    """Load the prompts and plan files of a workflow that `read_workflow` has returned. Raises `UsageProblem`."""
    book, prompt_notices = _load_prompt_book(workflow, document, root)
    workflow = replace_plan_files(workflow, document, Path(document.source).parent)
    loaded = LoadedWorkflow(workflow, book, document.source, (*notices, *prompt_notices), document)
    for step in workflow.graph.order:
        if not workflow.is_deterministic(step):
            loaded = _note_missing_prompt(loaded, step)
    if workflow.classifications_max and CLASSIFIER not in book.entries:
        cause, hint = f"the prompts have no entry {CLASSIFIER!r}", nearest(CLASSIFIER, book.entries, kind="entries")
        raise document.problem(cause, ("classifications_max",), hint)
    return loaded


def _load_prompt_book(workflow: Workflow, document: ParsedFile, root: Path) -> tuple[PromptBook, tuple[str, ...]]:
    shared = root / "prompts" / f"{_SHARED_PROMPTS}.yaml"
    book, notices = load_prompts(find_named(workflow.prompts, root / "prompts", "prompts", document), shared)
    beside = Path(document.source).parent / "prompts.json"
    if "prompts" in document.value or not document.source.endswith(".json") or not beside.is_file():
        return book, notices
    own, own_notices = load_prompts(beside, shared)
    notice = (
        f"{document.source}: the prompts are read from {beside}; entries that it lacks come from the shipped prompts"
    )
    return own.model_copy(update={"entries": {**book.entries, **own.entries}}), (*notices, notice, *own_notices)


def _note_missing_prompt(loaded: LoadedWorkflow, step: str) -> LoadedWorkflow:
    """Return the workflow.

    If an AtomicGuard file has no prompt for the step, add a phrase about the prompt to `missing`.

    Raises:
        UsageProblem: the step has no prompt, and the file is not AtomicGuard's.
    """
    try:
        find_prompt_entry(loaded.prompts, loaded.workflow, step)
    except UsageProblem as problem:
        if is_foreign(loaded.document):
            return replace(loaded, missing=(*loaded.missing, f"a prompt for {step!r}"))
        raise loaded.document.problem(problem.cause, ("action_pairs", step), problem.hint) from None
    return loaded


def load_policy(name_or_path: str, root: Path, folder: Path = Path()) -> Policy:
    """Return the policy. A relative path is relative to `folder`, the workflow's folder.

    Raises:
        UsageProblem: no policy has this name, or the policy is invalid. The error names the file, the line and the
            nearest valid name.
    """
    return policy_document(name_or_path, root, folder).read_as(Policy)


def policy_document(name_or_path: str, root: Path, folder: Path = Path()) -> ParsedFile:
    """Return the parsed file of a policy, with its line numbers. Raises `UsageProblem` if no policy has this name."""
    return read_document(
        find_shipped(name_or_path, root / "configs" / "policies", "policy", (), folder, place="POLICY")
    )
