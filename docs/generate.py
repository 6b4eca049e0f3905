"""Regenerates the parts of the documentation that follow from the program, between two marks on a page.

`python docs/generate.py` rewrites the text between `<!--generated:NAME-->` and `<!--end-->` on every page, and
each number that is a link to a table of an experiment; a test compares them, so that no page is out of date.
`configs/meanings.yaml` has the meanings that are not in the code.
"""
# ruff: noqa: INP001, T201 -- a script, not a package

import json
import re
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
# So that the checkout is documented, whatever is installed; `page_parts` is in the folder of this script.
sys.path[:0] = [str(ROOT), str(DOCS)]

from page_parts import (  # noqa: E402
    demands,
    dependencies,
    events,
    experiments,
    helpdesk,
    http_api,
    mcp,
    quantities,
    question_tables,
    requirements,
    size,
    tools,
)
from page_parts.markdown import code, meaning, table  # noqa: E402

from actors.config.action_pair import ActionPair, Composite  # noqa: E402
from actors.config.loader import load_policy, read_workflow, shipped_workflows  # noqa: E402
from actors.config.workflow import Workflow  # noqa: E402
from actors.guards.plan_settings import GUARD_CATALOG  # noqa: E402
from actors.planning.config import graph_of  # noqa: E402
from actors.planning.events import PlanningOutcome  # noqa: E402
from actors.policy.table import BacktrackLevel, Row  # noqa: E402
from actors.prompting.book import PromptEntry  # noqa: E402
from actors.run.limits import LIMITS, flag  # noqa: E402
from actors.run.outage import follows  # noqa: E402
from actors.search.graph import happy_calls, linear_calls, worst_case_calls  # noqa: E402
from actors.values.findings import Code, ReasonTag  # noqa: E402
from actors.values.model_settings import ModelSettings  # noqa: E402
from replan.cli.exits import MEANING  # noqa: E402
from replan.setup.config_schemas import describe_models  # noqa: E402
from runtime.models.port import FaultKind  # noqa: E402
from runtime.models.replies import ReplyCode  # noqa: E402

MARKED = re.compile(r"<!-- ?generated: ?(?P<name>[a-z-]+) ?-->\n.*?<!-- ?end ?-->", re.DOTALL)
"""A generated part between its marks. The marks are written without blanks, so that each counts as one word."""


def findings() -> str:
    """Return the codes of findings by what reports them; `replan explain CODE` says what each means."""
    codes: dict[str, list[str]] = {}
    for name in (str(member) for member in (*ReplyCode, *Code)):
        codes.setdefault(meaning("findings", name)["by"], []).append(name)
    return "\n".join(f"- {reporter}: {code(names)}" for reporter, names in codes.items())


def _meanings(section: str, values: Iterable[object]) -> str:
    return "\n".join(f"- `{value}`: {meaning(section, str(value))}" for value in values)


def policy() -> str:
    """Return the default rule table, row by row."""
    return "\n".join(
        f"{place}. `{row.id}`: {_fires(row)} → {_answer(row)}."
        for place, row in enumerate(load_policy("default", ROOT).rows, 1)
    )


def _answer(row: Row) -> str:
    return f"`{row.level}`" if row.target == "self" else f"`{row.level}` to `{row.target}`"


def _fires(row: Row) -> str:
    causes = ["a fatal verdict"] if row.fatal else []
    causes += [code(row.codes)] if row.codes else []
    causes += [f"tag {code(row.tags)}"] if row.tags else []
    causes += ["the same failure `r_patience` times in a row"] if row.repeated else []
    causes += ["an artifact repeated word for word in this round"] if row.repeats else []
    delay = f" (first delay {row.backoff_seconds:g} s, doubling)" if row.backoff_seconds else ""
    return ("; ".join(causes) or "anything else") + delay


def keys(model: type[BaseModel], without: Container[str] = ()) -> str:
    """Return the keys of a model of configuration, as editors show them, `without` those that are listed elsewhere."""
    describe_models()
    schema = model.model_json_schema()
    rows = []
    for name, field in model.model_fields.items():
        if name in without:
            continue
        kind = _type(schema["properties"][name], schema.get("$defs", {}))
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        default = None if isinstance(default, ModelSettings) and not default else default
        shown = "" if default in (None, "", (), {}, frozenset()) else f", default `{json.dumps(default, default=dict)}`"
        meaning = " ".join((field.description or "").split())
        rows.append(f"- `{name}` ({kind}{', required' if field.is_required() else shown}): {meaning}")
    return "\n".join(rows)


def _type(shape: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    """Return a JSON Schema's type in a few words."""
    if "$ref" in shape:
        name = str(shape["$ref"]).rpartition("/")[2]
        return "several guards" if name == "Composite" else _type(others[name], others)
    if "enum" in shape:
        return code(shape["enum"])
    either = shape.get("anyOf") or shape.get("oneOf")
    if either:
        return " or ".join(dict.fromkeys(_type(item, others) for item in either if item.get("type") != "null"))
    kind = {"array": "list", "object": "mapping", "string": "text"}
    name = str(shape.get("type"))
    low, high = shape.get("minimum"), shape.get("maximum")
    span = f" {low:,.16g} to {high:,.16g}" if low is not None and high is not None else ""
    return kind.get(name, name) + span


def workflows() -> str:
    """Return the shipped workflows with the calls of each."""
    rows = []
    for name in shipped_workflows(ROOT):
        workflow, _, _ = read_workflow(name, ROOT)
        graph = graph_of(workflow)
        # A linear search never makes a second visit, whatever the budgets say.
        worst = linear_calls(graph) if workflow.search == "linear" else worst_case_calls(graph)
        rows.append((f"`{name}`", workflow.description, happy_calls(graph), worst))
    return table(("Workflow", "What it does", "At best", "Worst case"), rows)


def limits() -> str:
    """Return the limits of a run: their names and bounds; the help of `run` explains each."""
    units = {
        "count": "integer",
        "dollars": "dollars",
        "time": "length of time",
        "chance": "0 to 1",
        "settings": "names and values",
        "choice": "`ask` or `stop`",
    }
    rows = []
    for name, spec in LIMITS.items():
        most = (
            ""
            if spec.unit in ("switch", "chance", "settings", "choice")
            else f", at most {spec.most:,}{' s' if spec.unit == 'time' else ''}"
        )
        rows.append((f"`{name}`, `{flag(name)}`", f"{units.get(spec.unit, 'true or false')}{most}"))
    return table(("Limit", "Values"), rows)


def faults() -> str:
    """Return every fault of a model's transport and what follows from it."""
    return "\n".join(
        f"- `{fault}`: {meaning('faults', fault)} Reaction: {follows(fault)}{'' if fault.refunded else ' (charged)'}."
        for fault in FaultKind
    )


PARTS: Mapping[str, Callable[[], str]] = {
    "composite-keys": lambda: keys(Composite),
    "demands": demands.demands,
    **dependencies.PARTS,
    "limits": limits,
    **events.PARTS,
    "exit-codes": lambda: table(
        ("Code", "Meaning"), ((int(exit_code), meaning) for exit_code, meaning in MEANING.items())
    ),
    "faults": faults,
    "findings": findings,
    "guard-names": lambda: code(sorted(GUARD_CATALOG)),
    **experiments.PARTS,
    **http_api.PARTS,
    **mcp.PARTS,
    "levels": lambda: _meanings("levels", BacktrackLevel),
    "outcomes": lambda: code(PlanningOutcome),
    "policy": policy,
    "prompt-keys": lambda: keys(PromptEntry),
    "model-settings": lambda: keys(ModelSettings),
    **requirements.PARTS,
    **quantities.PARTS,
    **size.PARTS,
    "helpdesk": helpdesk.helpdesk,
    "row-keys": lambda: keys(Row),
    "step-keys": lambda: keys(ActionPair),
    **tools.parts(keys),
    "tags": lambda: _meanings("tags", ReasonTag),
    "workflow-keys": lambda: keys(Workflow),
    "workflows": workflows,
}
"""What can be generated, by the name in the mark."""

DOCUMENTS: Mapping[str, Callable[[], str]] = {
    **http_api.DOCUMENTS,
    **events.DOCUMENTS,
    **question_tables.DOCUMENTS,
}
"""Whole files that can be generated, by their path in the documentation's folder."""


def regenerated(text: str) -> str:
    """Return a page with its generated parts and numbers as they are now. Raises `KeyError` for an unknown name."""
    parts = MARKED.sub(lambda mark: f"<!--generated:{mark['name']}-->\n{PARTS[mark['name']]()}\n<!--end-->", text)
    return experiments.numbers_from_tables(parts)


def pages() -> list[Path]:
    """Return every page of the documentation, the front page included."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def main() -> None:
    """Rewrite the pages, and say which ones changed."""
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = regenerated(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"changed {page.relative_to(ROOT)}")
    for name, text in DOCUMENTS.items():
        if not (DOCS / name).exists() or (DOCS / name).read_text(encoding="utf-8") != text():
            (DOCS / name).write_text(text(), encoding="utf-8")
            print(f"changed docs/{name}")


if __name__ == "__main__":
    main()
