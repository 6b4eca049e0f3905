"""Translates AtomicGuard's `workflow.json` files into workflows.

A key without an equivalent in Replan is ignored with a notice. A composite guard without an equivalent is an error.

`src/atomicguard/schemas/` and `examples/` in https://github.com/thompsonson/atomicguard define the format (v2.3.0 and
the branch `feature/informed-backtracking`).

| AtomicGuard | here |
|---|---|
| `guard: composite` with `guards: [a, b]`, or `compose: sequential` and `policy: all_pass` | `first_failure` |
| `compose: parallel` and `policy: all_pass` | `all_of` |
| `policy: majority_pass` | `majority` |
| `policy: any_pass`, nested composites | an error: there is no equivalent guard |
| `escalate_feedback_by_guard` with class names (`TestRedGuard`) | guard names (`test_red`), with a notice |
| a step without `generator`, in a `.json` file | `model`, with a notice; a model is AtomicGuard's default too |
| `plan_source: NAME` of a `PlanGenerator` | `plan: plans/NAME.json`, or a path; `defect` is ignored, with a notice |
| `phases` with `dependencies` and `retry_budget` (one example has them) | `action_pairs`, `requires`, `rmax` |
| `model`, `provider`, `specification` and the like | ignored, with a notice that says where Replan sets it |
| any other key that Replan does not know, in a file that `is_foreign` | ignored, with a notice |
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from actors.config.action_pair import ActionPair
from actors.config.plan_files import PLAN
from actors.config.workflow import FREE_GENERATORS, Workflow
from actors.files.suggestions import near
from actors.files.validation_errors import KeyPath, ParsedFile, keys_of

_MODEL = "the model is chosen with --model or REPLAN_MODEL"
_SERVER = "the server is chosen with OPENAI_BASE_URL"
_UNUSED = "Replan does not use this key"
_WORKFLOW_IGNORED = {
    "$schema": "",
    "model": _MODEL,
    "provider": _MODEL,
    "backend": _MODEL,
    "host": _SERVER,
    "base_url": _SERVER,
    "specification": "`replan run FILE` names the file with the problem",
    "backtrack_config": "give each step its own `backtrack_budget`",
    "extensions": _UNUSED,
    "incremental": _UNUSED,
    "meta_level": _UNUSED,
}
_STEP_IGNORED = {
    "output_type": _UNUSED,
    "human_prompt_title": _UNUSED,
    "metadata": _UNUSED,
}
_FOREIGN_STEP_IGNORED = {**_STEP_IGNORED, "model": _MODEL}
"""The ignored keys of a step in AtomicGuard's files. There, `model` names a model of Ollama. In other files, `model`
has the form of `--model`.
"""
_WORKFLOW_KEYS, _STEP_KEYS = keys_of(Workflow), keys_of(ActionPair)
_REPLAN_WORKFLOW_KEYS = _WORKFLOW_KEYS - {
    *("name", "description", "constraints", "rmax", "r_patience", "e_max", "action_pairs"),
}
"""The keys of a workflow that exist in Replan but not in AtomicGuard."""
_REPLAN_STEP_KEYS = _STEP_KEYS - {
    *("generator", "generator_config", "guard", "guard_config", "requires", "description", "model"),
    *("rmax", "r_patience", "e_max", "escalate_feedback_to", "escalate_feedback_by_guard"),
}
"""The keys of a step that exist in Replan but not in AtomicGuard."""
_PHASE_KEYS = {"dependencies": "requires", "retry_budget": "rmax"}
"""A mapping from keys of a phase in AtomicGuard's files to the keys of a step that mean the same."""
_CLASS_NAME = re.compile(r"(?:[A-Z][a-z0-9]*)+Guard")
_COMPOSITES = {
    ("sequential", "all_pass"): "first_failure",
    ("parallel", "all_pass"): "all_of",
    ("sequential", "majority_pass"): "majority",
    ("parallel", "majority_pass"): "majority",
}


def is_foreign(document: ParsedFile) -> bool:
    """Return whether a file is AtomicGuard's, that is, a `.json` file with steps and without keys that only Replan has.

    The result for a document is the same before and after `translate`.
    """
    steps = document.value.get("action_pairs")
    if not document.source.endswith(".json") or not isinstance(steps, dict):
        return False
    if _REPLAN_WORKFLOW_KEYS & document.value.keys():
        return False
    return not any(_REPLAN_STEP_KEYS & pair.keys() for pair in steps.values() if isinstance(pair, dict))


def translate(document: ParsedFile) -> tuple[ParsedFile, tuple[str, ...]]:
    """Return the document with AtomicGuard's names replaced by Replan's, and a notice for each ignored or replaced key.

    Values of a wrong type are kept, because the later validation reports them. Raises `UsageProblem` for a composite
    guard without an equivalent.
    """
    document = _rename_phases(document)
    return _Translation(document, is_foreign(document)).translate()


def _rename_phases(document: ParsedFile) -> ParsedFile:
    phases = document.value.get("phases")
    if "action_pairs" in document.value or not isinstance(phases, dict) or not document.source.endswith(".json"):
        return document
    value = {key: item for key, item in document.value.items() if key != "phases"}
    value["action_pairs"] = {
        step: {_PHASE_KEYS.get(key, key): item for key, item in pair.items()} if isinstance(pair, dict) else pair
        for step, pair in phases.items()
    }
    moved: dict[KeyPath, int] = {
        ("action_pairs", *path[1:2], *(_PHASE_KEYS.get(str(key), key) for key in path[2:3]), *path[3:]): line
        for path, line in document.lines.items()
        if path[:1] == ("phases",)
    }
    return ParsedFile(document.source, value, {**document.lines, **moved})


@dataclass(frozen=True, slots=True)
class _Translation:
    """The state of the translation of one document."""

    document: ParsedFile
    foreign: bool
    """Whether the file is AtomicGuard's (`is_foreign`). Unknown keys of such a file are ignored."""
    notices: list[str] = field(default_factory=list)
    """Lines for the user about keys that were ignored or replaced."""

    def translate(self) -> tuple[ParsedFile, tuple[str, ...]]:
        value = self._keep_known_keys((), self.document.value, _WORKFLOW_IGNORED, _WORKFLOW_KEYS)
        steps = value.get("action_pairs")
        if isinstance(steps, dict):
            value["action_pairs"] = {step: self._translate_step(step, pair) for step, pair in steps.items()}
        return ParsedFile(self.document.source, value, self.document.lines), tuple(self.notices)

    def _add_notice(self, path: KeyPath, text: str) -> None:
        self.notices.append(f"{self.document.place(path)}: {text}")

    def _keep_known_keys(
        self, path: KeyPath, value: Mapping[str, Any], ignored: Mapping[str, str], known: frozenset[str]
    ) -> dict[str, Any]:
        unknown = value.keys() - known if self.foreign else set()
        for key in value:
            if why := ignored.get(key, _UNUSED if key in unknown else ""):
                hint = near(key, known) if key in unknown - ignored.keys() else ""
                self._add_notice((*path, key), "; ".join(filter(None, ("ignored", why, hint))))
        return {key: item for key, item in value.items() if key not in ignored and key not in unknown}

    def _translate_step(self, step: str, pair: Any) -> Any:
        if not isinstance(pair, dict):
            return pair
        path: KeyPath = ("action_pairs", step)
        pair = dict(pair)
        if pair.get("guard") == "composite" and "guards" in pair:
            pair["guard"] = self._translate_composite((*path, "guards"), pair.pop("guards"))
        ignored = _FOREIGN_STEP_IGNORED if self.foreign else _STEP_IGNORED
        pair = self._keep_known_keys(path, pair, ignored, _STEP_KEYS)
        if self.document.source.endswith(".json"):
            self._translate_generator(path, pair)
        routes = pair.get("escalate_feedback_by_guard")
        if isinstance(routes, dict):
            pair["escalate_feedback_by_guard"] = {
                self._translate_guard_name((*path, "escalate_feedback_by_guard", name), name): targets
                for name, targets in routes.items()
            }
        return pair

    def _translate_generator(self, path: KeyPath, pair: dict[str, Any]) -> None:
        """Set a missing `generator`, and translate `plan_source` into the path of a plan file."""
        if "generator" not in pair:
            pair["generator"] = "model"
            self._add_notice(path, "this step names no generator, so it uses `model`")
        generator, config = pair["generator"], pair.get("generator_config")
        if not isinstance(generator, str) or generator not in FREE_GENERATORS or not isinstance(config, dict):
            return
        if config.get("defect") is not None:
            self._add_notice((*path, "generator_config", "defect"), "ignored; the plan is used without a defect")
        kept = {key: value for key, value in config.items() if key not in ("plan_source", "defect")}
        source = config.get("plan_source")
        if isinstance(source, str):
            source = source if source.endswith(".json") else f"plans/{source}.json"
        pair["generator_config"] = {PLAN: source, **kept} if "plan_source" in config else kept

    def _translate_composite(self, path: KeyPath, guards: Any) -> Any:
        plan = guards if isinstance(guards, dict) else {"guards": guards}
        members = plan.get("guards")
        kind = _COMPOSITES.get((str(plan.get("compose", "sequential")), str(plan.get("policy", "all_pass"))))
        if kind is None or set(plan) - {"compose", "policy", "guards"}:
            hint = "use the policy all_pass or majority_pass"
            raise self.document.problem("Replan has no composite guard with these settings", path, hint)
        if not isinstance(members, list) or not all(isinstance(member, str) for member in members):
            hint = "move settings of guards into guard_config"
            raise self.document.problem("the members of a composite guard must be a list of guard names", path, hint)
        return {kind: members}

    def _translate_guard_name(self, path: KeyPath, name: str) -> str:
        if not _CLASS_NAME.fullmatch(name):
            return name
        snake = re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix("Guard")).lower()
        self._add_notice(path, f"in Replan, this guard is named {snake!r}")
        return snake
