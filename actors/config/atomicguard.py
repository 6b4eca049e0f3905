"""Reads AtomicGuard's `workflow.json` as it stands: its spellings become ours, what has no meaning here is told.

`translate(document)` gives the document in our spelling and notices. Sources: `src/atomicguard/schemas/` and
`examples/` of https://github.com/thompsonson/atomicguard (v2.3.0 and the branch feature/informed-backtracking).

| theirs | here |
|---|---|
| `guard: composite` with `guards: [a, b]`, or `compose: sequential` and `policy: all_pass` | `first_failure` |
| `compose: parallel` and `policy: all_pass` | `all_of` |
| `policy: majority_pass` | `majority` |
| `policy: any_pass`, nested composites | refused: no guard here means that |
| `escalate_feedback_by_guard` with class names (`TestRedGuard`) | guard names (`test_red`), with a notice |
| a step without `generator`, in a `.json` file | `model`, with a notice: the default is a model there too |
| `model`, `provider`, `specification` and the like | nothing, with a notice that says where it is set here |
"""

import re
from collections.abc import Mapping
from typing import Any

from actors.config.yamlfile import Document, KeyPath

_MODEL = "the model is chosen with --model or REPLAN_MODEL"
_SERVER = "the server is chosen with OPENAI_BASE_URL"
_UNREAD = "nothing here reads it"
_WORKFLOW_IGNORED = {
    "$schema": "",
    "model": _MODEL,
    "provider": _MODEL,
    "backend": _MODEL,
    "host": _SERVER,
    "base_url": _SERVER,
    "specification": "the problem is the file that `run` is given",
    "backtrack_config": "give steps a `backtrack_budget`",
    "extensions": _UNREAD,
    "incremental": _UNREAD,
    "meta_level": _UNREAD,
}
_STEP_IGNORED = {
    "model": _MODEL,
    "output_type": _UNREAD,
    "human_prompt_title": _UNREAD,
    "metadata": _UNREAD,
}
_CLASS_NAME = re.compile(r"(?:[A-Z][a-z0-9]*)+Guard")
_COMPOSITES = {
    ("sequential", "all_pass"): "first_failure",
    ("parallel", "all_pass"): "all_of",
    ("sequential", "majority_pass"): "majority",
    ("parallel", "majority_pass"): "majority",
}


def translate(document: Document) -> tuple[Document, tuple[str, ...]]:
    """Return the document without foreign spellings, and one notice per key whose meaning is left out.

    Anything of an unexpected shape is left as it is, for the models to refuse.

    Raises:
        UsageProblem: a composite guard that has no equal here.
    """
    notices: list[str] = []
    value = _without(document, (), document.value, _WORKFLOW_IGNORED, notices)
    steps = value.get("action_pairs")
    if isinstance(steps, dict):
        value["action_pairs"] = {step: _step(document, step, pair, notices) for step, pair in steps.items()}
    return Document(document.source, value, document.lines), tuple(notices)


def _without(
    document: Document, path: KeyPath, value: Mapping[str, Any], ignored: Mapping[str, str], notices: list[str]
) -> dict[str, Any]:
    notices.extend(f"{document.place((*path, key))}: ignored; {ignored[key]}" for key in value if ignored.get(key))
    return {key: item for key, item in value.items() if key not in ignored}


def _step(document: Document, step: str, pair: Any, notices: list[str]) -> Any:
    if not isinstance(pair, dict):
        return pair
    path: KeyPath = ("action_pairs", step)
    pair = _without(document, path, pair, _STEP_IGNORED, notices)
    if document.source.endswith(".json") and "generator" not in pair:
        pair["generator"] = "model"
        notices.append(f"{document.place(path)}: names no generator; the model is asked")
    if pair.get("guard") == "composite" and "guards" in pair:
        pair["guard"] = _composite(document, (*path, "guards"), pair.pop("guards"))
    routes = pair.get("escalate_feedback_by_guard")
    if isinstance(routes, dict):
        pair["escalate_feedback_by_guard"] = {
            _guard_name(document, (*path, "escalate_feedback_by_guard", name), name, notices): targets
            for name, targets in routes.items()
        }
    return pair


def _composite(document: Document, path: KeyPath, guards: Any) -> Any:
    plan = guards if isinstance(guards, dict) else {"guards": guards}
    members = plan.get("guards")
    kind = _COMPOSITES.get((str(plan.get("compose", "sequential")), str(plan.get("policy", "all_pass"))))
    if kind is None or set(plan) - {"compose", "policy", "guards"}:
        raise document.problem("no guard here combines its members like this", path, "use all_pass or majority_pass")
    if not isinstance(members, list) or not all(isinstance(member, str) for member in members):
        raise document.problem("a composite guard takes guard names here", path, "move settings into guard_config")
    return {kind: members}


def _guard_name(document: Document, path: KeyPath, name: str, notices: list[str]) -> str:
    if not _CLASS_NAME.fullmatch(name):
        return name
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix("Guard")).lower()
    notices.append(f"{document.place(path)}: read as the guard {snake!r}")
    return snake
