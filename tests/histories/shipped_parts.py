"""What the shipped parts do in a history: the offline author writes artifacts, and the built-in guards judge them.

A history may put a fault into an artifact, as a model might; what is found is always the guards' own.
"""

import json

from actors.config.loader import load_policy
from actors.config.model_spec import TEMPLATE_NAMES
from actors.config.step_guards import BUILT_IN, make_step_guard
from actors.config.workflow import MODEL_GENERATORS
from actors.config.workflow_check import check_workflow
from actors.handlers.generators import material
from actors.planning.prepare import pin
from actors.planning.prompt_context import context_for
from actors.templates.model import write
from actors.templates.template_files import load_templates
from actors.values.findings import limit_verdict
from replan.setup.installation import data_root


def written(given):
    """Return a template's artifact; an analysis and a strategy are another one after each rejection.

    What follows an accepted analysis is of the template of its type.
    """
    templates = load_templates(data_root() / "configs" / "templates")
    rejections = (given["settings"].get("escalations") or 0) + len(given.get("retry", ()))
    kind = given.get("dependencies", {}).get("analysis", {}).get("problem_type", "bug_fix")
    name = next(name for name, template in templates.items() if template.kind == kind)
    if given["role"] == "analysis":
        name = TEMPLATE_NAMES[rejections % len(TEMPLATE_NAMES)]
    artifact = json.loads(write(given["role"], given, name, templates[name]))
    if given["role"] == "strategy" and rejections % 2:
        artifact["strategy_id"] = "S5_investigate_first"
    return artifact


def shipped_problem(name):
    return (data_root() / "configs" / "problems" / f"{name}.md").read_text(encoding="utf-8")


def shipped_config(name, policy=None, model="template:bug", **keys):
    """Return the configuration of a shipped workflow, with another policy if one is named, and these keys changed.

    A history may name another model, so that a step may be tried again after the same text.
    """
    loaded, own = check_workflow(name, data_root(), BUILT_IN, MODEL_GENERATORS)
    pinned = pin(loaded, load_policy(policy, data_root()) if policy else own, model, None)
    return pinned.model_copy(update={"workflow": pinned.workflow.changed(**keys)}) if keys else pinned


def authored(state, node, changes):
    """Return the offline author's text for a node, with the changes: `PATH=JSON`, `PATH.+=JSON` to append, `-PATH`."""
    context = context_of(state, node)
    artifact = written(material(context))
    for change in changes:
        path, _, text = change.partition("=")
        *upper, last = path.removeprefix("-").split(".")
        place = artifact
        for part in upper:
            place = place[key_of(place, part)]
        if last == "+":
            place.append(json_or_text(text))
        elif path.startswith("-"):
            del place[key_of(place, last)]
        else:
            place[key_of(place, last)] = json_or_text(text)
    return json.dumps(artifact)


def key_of(place, part):
    """Return the key of an object, or the index of a list's item by its number or its id."""
    if isinstance(place, dict):
        return part
    ids = [item.get("step_id", item.get("id")) if isinstance(item, dict) else None for item in place]
    return int(part) if part.isdigit() else ids.index(part)


def json_or_text(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def judged(state, node):
    """Return the verdict of the step's guards on a node's artifact."""
    attempt = state.nodes[node]
    guard = make_step_guard(state.config.workflow, attempt.step, BUILT_IN)
    return limit_verdict(guard(attempt.artifact, context_of(state, node)))


def context_of(state, node):
    return context_for(state, state.branch_of(node), state.nodes[node].step)
