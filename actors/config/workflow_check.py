"""Checks a workflow and what it names: guards, generators, prompts, plan files, policy and child workflows."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from actors.config.action_pair import CHILD
from actors.config.atomicguard import is_foreign
from actors.config.loader import (
    ALIASES,
    RELATIVE_PATH_HINT,
    LoadedWorkflow,
    add_prompts,
    find_named,
    find_shipped,
    load_policy,
    read_workflow,
)
from actors.config.workflow import unknown_names, validate_names
from actors.files.validation_errors import KeyPath, ParsedFile
from actors.guards import review
from actors.policy.belief import STEPS_MAX
from actors.policy.table import Policy
from actors.search.notation import read_search
from runtime.core.errors import UsageProblem

DEPTH_MAX = 4
"""The largest number of workflows that are nested in each other, including the outermost workflow."""

_PLUG_INS = "add guards and generators with plug-ins, and prompts with a prompts.json beside the file"


def check_workflow(
    name_or_path: str, root: Path, guards: Collection[str], generators: Collection[str], *, to_run: bool = True
) -> tuple[LoadedWorkflow, Policy]:
    """Load a workflow and its policy, check everything that a run needs, and return both.

    An AtomicGuard file names guards and generators that are classes in AtomicGuard's examples, so Replan does not know
    them. All unknown names in such a file are reported together: as one problem, or, if `to_run` is false, as a notice.

    Raises:
        UsageProblem: the first problem that was found. Names are checked first. Otherwise a misspelt guard would be
            reported as a missing prompt, because a step's role follows from its guard.
    """
    return _Loader(root, guards, generators, to_run).load(name_or_path, ())


@dataclass(frozen=True, slots=True)
class _Loader:
    root: Path
    guards: Collection[str]
    generators: Collection[str]
    to_run: bool

    def load(self, name_or_path: str, above: tuple[str, ...]) -> tuple[LoadedWorkflow, Policy]:
        """Load and check a workflow, its policy and its child workflows.

        `above` has the files of the workflow's parent workflows, outermost first.
        """
        workflow, document, notices = read_workflow(name_or_path, self.root)
        if not is_foreign(document):
            validate_names(workflow, self.guards, self.generators, document)
        find_named(workflow.policy, self.root / "configs" / "policies", "policy", document)
        policy = load_policy(workflow.policy, self.root, Path(document.source).parent)
        loaded = self._report_missing(add_prompts(workflow, document, notices, self.root))
        chain = (*above, str(Path(document.source).resolve()))
        children: dict[str, tuple[LoadedWorkflow, Policy]] = {}
        for step, pair in workflow.action_pairs.items():
            if pair.child is not None and pair.child not in children:
                children[pair.child] = self._child(pair.child, ("action_pairs", step, "generator"), document, chain)
        return replace(loaded, children=children), policy

    def _report_missing(self, loaded: LoadedWorkflow) -> LoadedWorkflow:
        unknown = unknown_names(loaded.workflow, self.guards, self.generators)
        missing = (*dict.fromkeys(f"{kind} {name!r}" for kind, name, _ in unknown), *loaded.missing)
        if not missing:
            return loaded
        problem = UsageProblem(f"not available: {', '.join(missing)}", place=loaded.source, hint=_PLUG_INS)
        if self.to_run:
            raise problem
        return replace(loaded, notices=(*loaded.notices, str(problem)))

    def _child(
        self, name: str, key: tuple[str, ...], document: ParsedFile, above: tuple[str, ...]
    ) -> tuple[LoadedWorkflow, Policy]:
        shipped, folder = self.root / "configs" / "workflows", Path(document.source).parent
        try:
            path = find_shipped(ALIASES.get(name, name), shipped, "workflow", ALIASES, folder)
        except UsageProblem as problem:
            raise document.problem(problem.cause, key, problem.hint) from None
        if not path.exists():
            raise document.problem(f"no such file {str(path)!r}", key, RELATIVE_PATH_HINT)
        file = str(path.resolve())
        if file in above:
            names = [Path(workflow).stem for workflow in (*above[above.index(file) :], file)]
            raise document.problem(
                f"workflows run each other: {' -> '.join(names)}",
                key,
                "in one of these workflows, use the generator `model`",
            )
        if len(above) >= DEPTH_MAX:
            raise document.problem(
                f"{CHILD}{name} would nest {len(above) + 1} workflows; at most {DEPTH_MAX} are allowed", key
            )
        loaded, policy = self.load(file, above)
        for step, pair in loaded.workflow.action_pairs.items():
            if review.NAME in pair.guards:
                raise loaded.document.problem(
                    f"a child workflow cannot ask a person, so it cannot use the guard {review.NAME!r}",
                    ("action_pairs", step, "guard"),
                    f"put this guard on the step that runs the child workflow, in {document.source}",
                )
        return loaded, policy


SEARCHES = ("depth_first", "iterative_deepening")
"""The names of the searches with only one branch. A belief policy works only with these searches, because it cannot
choose the moves of other searches.
"""


def check_belief(loaded: LoadedWorkflow, policy: Policy) -> None:
    """Raise `UsageProblem`, with file and line, for the first key of a workflow that a belief policy does not allow."""
    if policy.belief is None:
        if loaded.workflow.stop_below is not None:
            cause = f"policy {policy.name!r} has no belief, so `stop_below` has no effect"
            hint = "remove the key, or choose a belief policy"
            raise UsageProblem(cause, place=loaded.document.place(("stop_below",)), hint=hint)
        return
    for cause, key, hint in _problems(loaded, policy.name):
        raise UsageProblem(cause, place=loaded.document.place(key), hint=hint)


def _problems(loaded: LoadedWorkflow, policy: str) -> Iterator[tuple[str, KeyPath, str]]:
    workflow = loaded.workflow
    search = read_search(workflow.search).name
    if search not in SEARCHES:
        cause = f"policy {policy!r} cannot be used with the search {search!r}"
        yield cause, ("search",), f"use {' or '.join(SEARCHES)}"
    own = [("action_pairs", step) for step, pair in workflow.action_pairs.items() if pair.r_patience is not None]
    for place in [*own, *([()] if "r_patience" in workflow.model_fields_set else [])]:
        cause = f"policy {policy!r} cannot use r_patience, because its belief counts repeated failures"
        yield cause, (*place, "r_patience"), "remove the key, or use another policy"
    model_steps = sum(1 for step in workflow.action_pairs if not workflow.is_deterministic(step))
    if model_steps > STEPS_MAX:
        cause = f"policy {policy!r} allows at most {STEPS_MAX} steps that call a model; this workflow has {model_steps}"
        yield cause, ("action_pairs",), "move some of these steps into a child workflow"
