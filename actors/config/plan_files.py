"""Reads the plan files that a template selector's settings name, once, when the workflow is loaded.

Afterwards the plans themselves stand in `generator_config`. So a run pins their content, `workflow_ref` changes with
it, and a relative path counts from the workflow's file, wherever the run is resumed.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from actors.config.workflow import FREE_GENERATORS, Workflow
from actors.files.explain import nearest
from actors.files.yaml_document import Document, KeyPath, read_document
from actors.plans.reader import read_plan
from runtime.core.errors import UsageProblem

__all__ = ["PLAN", "TEMPLATES", "read_settings", "with_plan_files"]

TEMPLATES = "templates"
"""The setting of a template selector that has a plan, or a plan file's path, by problem type."""
PLAN = "plan"
"""The setting that has one for every other problem type."""

Complain = Callable[[str, KeyPath, str], UsageProblem]
"""Makes the problem of (cause, keys within the settings, hint)."""


def with_plan_files(workflow: Workflow, document: Document, folder: Path) -> Workflow:
    """Return the workflow with every named plan file replaced by its plan; a relative path counts from `folder`.

    Raises:
        UsageProblem: a setting is unknown or of the wrong kind, or a file cannot be read or holds no plan.
    """
    pairs = dict(workflow.action_pairs)
    for step, pair in pairs.items():
        if pair.generator in FREE_GENERATORS and pair.generator_config:
            path: KeyPath = ("action_pairs", step, "generator_config")

            def complain(cause: str, keys: KeyPath, hint: str, path: KeyPath = path) -> UsageProblem:
                return document.problem(cause, (*path, *keys), hint)

            settings = read_settings(pair.generator_config, folder, complain)
            pairs[step] = pair.model_copy(update={"generator_config": settings})
    return workflow.model_copy(update={"action_pairs": pairs})


def read_settings(config: Mapping[str, Any], folder: Path, complain: Complain) -> dict[str, Any]:
    """Return a template selector's settings with its own plans in them; a plan that stands there stays as it is.

    Raises:
        UsageProblem: as `with_plan_files`.
    """
    for key in config:
        if key not in (TEMPLATES, PLAN):
            raise complain(f"unknown setting {key!r}", (key,), nearest(str(key), [TEMPLATES, PLAN], kind="settings"))
    settings: dict[str, Any] = {}
    if TEMPLATES in config:
        named = config[TEMPLATES]
        if not isinstance(named, Mapping):
            raise complain(f"should be a mapping of problem types to plan files, not {named!r}", (TEMPLATES,), "")
        settings[TEMPLATES] = {kind: _plan(said, (TEMPLATES, kind), folder, complain) for kind, said in named.items()}
    if PLAN in config:
        settings[PLAN] = _plan(config[PLAN], (PLAN,), folder, complain)
    return settings


def _plan(said: Any, keys: KeyPath, folder: Path, complain: Complain) -> dict[str, Any]:
    """Return the plan that a setting is, or names."""
    if isinstance(said, str) and said.strip():
        return _plan_of(folder / Path(said).expanduser(), keys, complain)
    if not isinstance(said, Mapping):
        raise complain(f"should be the path of a plan file, not {said!r}", keys, "")
    if fault := _fault(said):
        raise complain(": ".join(fault), keys, "")
    return dict(said)


def _plan_of(path: Path, keys: KeyPath, complain: Complain) -> dict[str, Any]:
    """Return the plan in a file. What the file says wrong is told with the file, not with the workflow."""
    try:
        document = read_document(path)
    except UsageProblem as problem:
        hint = problem.hint if path.exists() else "leave the entry out to take the shipped template"
        raise complain(f"{problem.place}: {problem.cause}", keys, hint) from None
    plan = dict(document.value)
    if fault := _fault(plan):
        *where, cause = fault
        raise UsageProblem(cause, place=" ".join((document.source, *where)))
    return plan


def _fault(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the first thing that keeps a value from being read as a plan, with its place if it has one.

    What the steps must be beyond that, the template step's guard says.
    """
    for finding in read_plan(plan)[1]:
        if finding.severity == "error":
            return tuple(filter(None, (finding.where, finding.message.rstrip("."))))
    return ()
