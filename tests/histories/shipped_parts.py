"""What the shipped parts do in a history: the offline author writes artifacts, and the built-in guards judge them.

A history may put a fault into an artifact, as a model might; what is found is always the guards' own.
"""

import json
from functools import cache

from actors.config.loader import load_policy
from actors.config.step_guards import guard_for
from actors.config.workflow import MODEL_GENERATORS
from actors.config.workflow_check import check_workflow
from actors.guards.built_in import BUILT_IN
from actors.handlers.generators import material
from actors.planning.prepare import pin
from actors.planning.prompt_context import context_for
from actors.rules.model import write
from actors.rules.template_files import build_rules, load_templates
from actors.values.findings import bounded
from replan.setup.data_files import data_root


@cache
def rules():
    """Return the tables of the offline author."""
    return build_rules(load_templates(data_root() / "configs" / "templates"))


def shipped_problem(name):
    """Return the text of a shipped problem."""
    return (data_root() / "configs" / "problems" / f"{name}.md").read_text(encoding="utf-8")


def shipped_config(name, policy=None, **keys):
    """Return the configuration of a shipped workflow, with another policy if one is named, and these keys changed."""
    loaded, own = check_workflow(name, data_root(), BUILT_IN, MODEL_GENERATORS)
    pinned = pin(loaded, load_policy(policy, data_root()) if policy else own, "rules", None)
    return pinned.model_copy(update={"workflow": pinned.workflow.changed(**keys)}) if keys else pinned


def authored(state, node, changes):
    """Return the offline author's text for a node, with the changes: `PATH=JSON`, `PATH.+=JSON` to append, `-PATH`."""
    context = context_of(state, node)
    artifact = json.loads(write(context.settings["role"], material(context), rules()))
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
    guard = guard_for(state.config.workflow, attempt.step, BUILT_IN)
    return bounded(guard(attempt.artifact, context_of(state, node)))


def context_of(state, node):
    return context_for(state, state.branch_of(node), state.nodes[node].step)
