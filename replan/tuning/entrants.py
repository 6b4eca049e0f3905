"""The entrants of a race: each workflow with each policy, written as a workflow file that is raced as it is."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from actors.config.loader import read_workflow
from actors.config.policy_loader import load_policy
from actors.config.shipped_files import find_named
from actors.files.document import Document
from replan.experiments.definition import DIVIDES_CALLS
from runtime.core.errors import UsageProblem

WORKFLOWS = ("single", "option_ad", "search")
"""The workflows that are raced where the user names none."""
POLICIES = ("default", "belief")
"""The policies that are raced where the user names none."""
CAPS = (10, 20, 30)
"""The limits of calls that are compared where the user names none."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A workflow with a policy."""

    name: str
    """The name in tables, such as `search-belief`."""
    workflow: str
    """The workflow, as the user named it."""
    policy: str
    """The policy, likewise."""
    search: str | None
    """The search, if it divides its calls among branches, so that it is tried with each cap; else None."""
    keys: Mapping[str, Any]
    """The keys of its workflow file."""

    def text(self, cap: int) -> str:
        """Return its workflow file with a limit of calls."""
        keys = {**self.keys, "max_total_calls": cap}
        return yaml.safe_dump(keys, sort_keys=False, allow_unicode=True, width=100)

    def arm(self, cap: int) -> str:
        """Return the name of its arm in an experiment with this cap."""
        return self.name if self.search is None else f"{self.name}:{cap}_calls"

    def pipeline(self, folder: str) -> dict[str, Any]:
        """Return it as a pipeline of an experiment; `folder` has its workflow file."""
        own = {"name": self.name, "workflow": f"{folder}/{self.name}.yaml", "policy": self.keys["policy"]}
        return own if self.search is None else {**own, "search": self.search}


def entrants(workflows: Sequence[str], policies: Sequence[str], root: Path) -> list[Entrant]:
    """Return each workflow with each policy.

    Raises:
        UsageProblem: a workflow or policy cannot be read, or two entrants would have the same name.
    """
    found: dict[str, Entrant] = {}
    for workflow in dict.fromkeys(workflows):
        for policy in dict.fromkeys(policies):
            entrant = _entrant(workflow, policy, root)
            if entrant.name in found:
                raise UsageProblem(f"two entrants are named {entrant.name!r}", hint="name each file differently")
            found[entrant.name] = entrant
    return list(found.values())


def _entrant(workflow: str, policy: str, root: Path) -> Entrant:
    loaded, document, _ = read_workflow(workflow, root)
    load_policy(policy, root)
    keys = {**document.value, "policy": _absolute(policy), **_prompts(loaded.prompts, document, root)}
    divides = loaded.search.partition(":")[0] in DIVIDES_CALLS
    return Entrant(f"{_plain(workflow)}-{_plain(policy)}", workflow, policy, loaded.search if divides else None, keys)


def _prompts(prompts: str, document: Document, root: Path) -> dict[str, str]:
    """Return the key `prompts` where the workflow has one: the raced file stands in another folder."""
    if "prompts" not in document.value or (root / "prompts" / f"{prompts}.yaml").exists():
        return {}
    return {"prompts": str(find_named(prompts, root / "prompts", "prompts", document).absolute())}


def _absolute(name: str) -> str:
    """Return the absolute path of a file; a shipped name is returned unchanged."""
    return str(Path(name).expanduser().absolute()) if "/" in name or Path(name).suffix else name


def _plain(name: str) -> str:
    """Return the part of an entrant's name for a workflow or policy: the stem of its file, without odd letters."""
    return re.sub(r"[^a-z0-9_]+", "_", Path(name).stem.lower()).strip("_")[:24] or "file"
