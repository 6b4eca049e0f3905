"""Replaces paths of plan files by the plans, in the settings of the generator that chooses templates.

This happens when a workflow is loaded. So a run stores the plans, and the hash of the workflow includes the plans. A
relative path is relative to the folder of the workflow's file.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from actors.config.workflow import FREE_GENERATORS, Workflow
from actors.files.suggestions import nearest
from actors.files.validation_errors import KeyPath, ParsedFile
from actors.files.yaml_document import read_document
from actors.plans.reader import read_plan
from runtime.core.errors import UsageProblem

TEMPLATES = "templates"
"""The key of the setting that maps each problem type to a plan, or to the path of a plan file."""
PLAN = "plan"
"""The key of the setting for all problem types that `templates` does not list. Its value is a plan, or the path of a
plan file."""

MakeProblem = Callable[[str, KeyPath, str], UsageProblem]
"""A function that returns an error. Its arguments are the cause, the path of keys to the wrong setting, and a hint."""


def replace_plan_files(workflow: Workflow, document: ParsedFile, folder: Path) -> Workflow:
    """Return the workflow with the paths of plan files replaced by the plans. A relative path is relative to `folder`.

    Raises:
        UsageProblem: a setting is unknown or has the wrong type, or a file cannot be read or contains no plan.
    """
    pairs = dict(workflow.action_pairs)
    for step, pair in pairs.items():
        if pair.generator in FREE_GENERATORS and pair.generator_config:
            path: KeyPath = ("action_pairs", step, "generator_config")

            def problem(cause: str, keys: KeyPath, hint: str, path: KeyPath = path) -> UsageProblem:
                return document.problem(cause, (*path, *keys), hint)

            settings = read_settings(pair.generator_config, folder, problem)
            pairs[step] = pair.model_copy(update={"generator_config": settings})
    return workflow.model_copy(update={"action_pairs": pairs})


def read_settings(config: Mapping[str, Any], folder: Path, problem: MakeProblem) -> dict[str, Any]:
    """Return the settings `config` with all paths replaced by plans. Raises the error that `problem` returns."""
    for key in config:
        if key not in (TEMPLATES, PLAN):
            raise problem(f"unknown setting {key!r}", (key,), nearest(str(key), [TEMPLATES, PLAN], kind="settings"))
    settings: dict[str, Any] = {}
    if TEMPLATES in config:
        templates = config[TEMPLATES]
        if not isinstance(templates, Mapping):
            raise problem(f"should be a mapping of problem types to plan files, not {templates!r}", (TEMPLATES,), "")
        settings[TEMPLATES] = {
            kind: _plan_in_setting(setting, (TEMPLATES, kind), folder, problem) for kind, setting in templates.items()
        }
    if PLAN in config:
        settings[PLAN] = _plan_in_setting(config[PLAN], (PLAN,), folder, problem)
    return settings


def _plan_in_setting(setting: Any, keys: KeyPath, folder: Path, problem: MakeProblem) -> dict[str, Any]:
    if isinstance(setting, str) and setting.strip():
        return _read_plan_file(folder / Path(setting).expanduser(), keys, problem)
    if not isinstance(setting, Mapping):
        raise problem(f"should be the path of a plan file, not {setting!r}", keys, "")
    if error := _first_error(setting):
        raise problem(": ".join(error), keys, "")
    return dict(setting)


def _read_plan_file(path: Path, keys: KeyPath, problem: MakeProblem) -> dict[str, Any]:
    """Return the plan in a file. If the plan has an error, the error's place is the plan file."""
    try:
        document = read_document(path)
    except UsageProblem as unread:
        hint = unread.hint if path.exists() else "remove the entry to use the shipped template"
        raise problem(f"{unread.place}: {unread.cause}", keys, hint) from None
    plan = dict(document.value)
    if error := _first_error(plan):
        *where, cause = error
        raise UsageProblem(cause, place=" ".join((document.source, *where)))
    return plan


def _first_error(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the place, if any, and the cause of the first error in reading a plan; empty if the plan can be read.

    The guard of the template step judges everything else about the plan.
    """
    for finding in read_plan(plan)[1]:
        if finding.severity == "error":
            return tuple(filter(None, (finding.where, finding.message.rstrip("."))))
    return ()
