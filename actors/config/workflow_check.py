"""Checks a workflow with everything that it names: guards, generators, prompts, plan files, policy, child workflows."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from actors.config.action_pair import CHILD
from actors.config.atomicguard import is_foreign
from actors.config.loader import ALIASES, LoadedWorkflow, read_workflow, with_prompts
from actors.config.policy_loader import load_policy
from actors.config.shipped_files import RELATIVE_PATH_HINT, find_named, find_shipped
from actors.config.workflow import unknown_names, validate_names
from actors.files.document import Document
from actors.guards import review
from actors.policy.table import Policy
from runtime.core.errors import UsageProblem

DEPTH_MAX = 4
"""Levels of workflows that run each other; a plan of plans of plans needs three."""

_PLUG_INS = "plug-ins add guards and generators, a prompts.json beside the file adds prompts"


def check_workflow(
    name_or_path: str, root: Path, guards: Collection[str], generators: Collection[str], *, to_run: bool = True
) -> tuple[LoadedWorkflow, Policy]:
    """Return a workflow and its policy, ready to be run.

    The guards and generators in a file of AtomicGuard are classes in that project's examples. All of them that are
    unknown here are reported as one problem, or as a notice if the workflow is not `to_run`.

    Raises:
        UsageProblem: the first problem. Names are checked first: the role of a step follows from its guard, so a
            misspelt guard would be reported as a missing prompt.
    """
    return _Check(root, guards, generators, to_run).check(name_or_path, ())


@dataclass(frozen=True, slots=True)
class _Check:
    root: Path
    guards: Collection[str]
    generators: Collection[str]
    to_run: bool

    def check(self, name_or_path: str, above: tuple[str, ...]) -> tuple[LoadedWorkflow, Policy]:
        """Return a workflow that is run by the workflows in the files `above`, outermost first."""
        workflow, document, notices = read_workflow(name_or_path, self.root)
        if not is_foreign(document):
            validate_names(workflow, self.guards, self.generators, document)
        find_named(workflow.policy, self.root / "configs" / "policies", "policy", document)
        policy = load_policy(workflow.policy, self.root, Path(document.source).parent)
        loaded = self._complete(with_prompts(workflow, document, notices, self.root))
        chain = (*above, str(Path(document.source).resolve()))
        children: dict[str, tuple[LoadedWorkflow, Policy]] = {}
        for step, pair in workflow.action_pairs.items():
            if pair.child is not None and pair.child not in children:
                children[pair.child] = self._child(pair.child, ("action_pairs", step, "generator"), document, chain)
        return replace(loaded, children=children), policy

    def _complete(self, loaded: LoadedWorkflow) -> LoadedWorkflow:
        """Return the workflow; report what it needs and is missing, as `check_workflow` says."""
        unknown = unknown_names(loaded.workflow, self.guards, self.generators)
        missing = (*dict.fromkeys(f"{kind} {name!r}" for kind, name, _ in unknown), *loaded.missing)
        if not missing:
            return loaded
        problem = UsageProblem(f"not available: {', '.join(missing)}", place=loaded.source, hint=_PLUG_INS)
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
            raise document.problem(f"no such file {str(path)!r}", key, RELATIVE_PATH_HINT)
        file = str(path.resolve())
        if file in above:
            names = [Path(workflow).stem for workflow in (*above[above.index(file) :], file)]
            raise document.problem(
                f"workflows run each other: {' -> '.join(names)}", key, "let one of them ask a model"
            )
        if len(above) >= DEPTH_MAX:
            raise document.problem(f"{CHILD}{name} would be workflow {len(above) + 1} of at most {DEPTH_MAX}", key)
        loaded, policy = self.check(file, above)
        for step, pair in loaded.workflow.action_pairs.items():
            if review.NAME in pair.guards:
                raise loaded.document.problem(
                    f"guard {review.NAME!r} asks a person, which a child workflow cannot do",
                    ("action_pairs", step, "guard"),
                    f"review the step that runs it, in {document.source}",
                )
        return loaded, policy
