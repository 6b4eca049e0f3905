"""Checks a workflow with all that it names: guards, generators, prompts, plan files, policy, and workflows in turn."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from actors.config.atomicguard import is_foreign
from actors.config.pair import CHILD
from actors.config.policies import load_policy
from actors.config.resolve import (
    ALIASES,
    FROM_HERE,
    LoadedWorkflow,
    find_named,
    find_shipped,
    read_workflow,
    with_prompts,
)
from actors.config.workflow import unknown_names, validate_names
from actors.files.yaml_document import Document
from actors.policy.table import Policy
from runtime.core.errors import UsageProblem

DEPTH_MAX = 4
"""Workflows that may stand above one another; a plan of plans of plans is one level less."""
REVIEW = "human_review"
"""The guard that a child may not have: it asks a person, and a child asks nobody."""


_PLUG_INS = "plug-ins add guards and generators, a prompts.json beside the file adds prompts"


def check_workflow(
    name_or_path: str, root: Path, guards: Collection[str], generators: Collection[str], *, to_run: bool = True
) -> tuple[LoadedWorkflow, Policy]:
    """Return a workflow and its policy, ready to be run.

    What a file of AtomicGuard names and is not here is one problem, or a notice if the workflow is not `to_run`: its
    guards and generators are classes in the examples of that project.

    Raises:
        UsageProblem: the first thing that is wrong. Names go first: a misspelt guard says no role, so that its step's
            prompt could not be found either.
    """
    return _Checking(root, guards, generators, to_run).check(name_or_path, ())


@dataclass(frozen=True, slots=True)
class _Checking:
    root: Path
    guards: Collection[str]
    generators: Collection[str]
    to_run: bool

    def check(self, name_or_path: str, above: tuple[str, ...]) -> tuple[LoadedWorkflow, Policy]:
        """Return a workflow below those in files `above`, outermost first."""
        workflow, document, notices = read_workflow(name_or_path, self.root)
        if not is_foreign(document):
            validate_names(workflow, self.guards, self.generators, document)
        find_named(workflow.policy, self.root / "configs" / "policies", "policy", document)
        policy = load_policy(workflow.policy, self.root, Path(document.source).parent)
        loaded = self._complete(with_prompts(workflow, document, notices, self.root))
        here = (*above, str(Path(document.source).resolve()))
        children: dict[str, tuple[LoadedWorkflow, Policy]] = {}
        for step, pair in workflow.action_pairs.items():
            if pair.child is not None and pair.child not in children:
                children[pair.child] = self._child(pair.child, ("action_pairs", step, "generator"), document, here)
        return replace(loaded, children=children), policy

    def _complete(self, loaded: LoadedWorkflow) -> LoadedWorkflow:
        """Return the workflow if nothing is missing that it needs to run, else as `check_workflow` says."""
        unknown = unknown_names(loaded.workflow, self.guards, self.generators)
        missing = (*dict.fromkeys(f"{kind} {name!r}" for kind, name, _ in unknown), *loaded.missing)
        if not missing:
            return loaded
        problem = UsageProblem(f"not here: {', '.join(missing)}", place=loaded.source, hint=_PLUG_INS)
        if self.to_run:
            raise problem
        return replace(loaded, notices=(*loaded.notices, str(problem)))

    def _child(
        self, name: str, key: tuple[str, ...], document: Document, above: tuple[str, ...]
    ) -> tuple[LoadedWorkflow, Policy]:
        shipped, folder = self.root / "configs" / "workflows", Path(document.source).parent
        try:
            path = find_shipped(ALIASES.get(name, name), shipped, "workflow", ALIASES, folder)
        except UsageProblem as problem:
            raise document.problem(problem.cause, key, problem.hint) from None
        if not path.exists():
            raise document.problem(f"no such file {str(path)!r}", key, FROM_HERE)
        where = str(path.resolve())
        if where in above:
            names = [Path(one).stem for one in (*above[above.index(where) :], where)]
            raise document.problem(
                f"workflows run each other: {' -> '.join(names)}", key, "let one of them ask a model"
            )
        if len(above) >= DEPTH_MAX:
            raise document.problem(f"{CHILD}{name} would be workflow {len(above) + 1} of at most {DEPTH_MAX}", key)
        loaded, policy = self.check(where, above)
        for step, pair in loaded.workflow.action_pairs.items():
            if REVIEW in pair.guards:
                raise loaded.document.problem(
                    f"guard {REVIEW!r} asks a person, and a workflow that a step runs asks nobody",
                    ("action_pairs", step, "guard"),
                    f"review the step that runs it, in {document.source}",
                )
        return loaded, policy
