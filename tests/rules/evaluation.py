"""Measures the built-in author on labelled problem statements: kinds, questions, and what becomes of stated items.

`python -m tests.rules.evaluation` prints the confusion table and the shares; see `statements/README.md`.
"""

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import yaml

from actors.guards.fields import folded
from tests.rules.author import ROOT, judged, pipeline
from tests.support.external import FOLDER

KINDS = ("bug_fix", "feature", "refactoring", "performance", "none")
PLANNED = KINDS[:-1]
ASKED, REFUSED = "asks", "not understood"
SETS = ("development", "held_out", "external")
PAGE = ROOT / "docs" / "explanation" / "rules-model.md"
START, END = "<!-- the measured table -->", "<!-- end of the measured table -->"


@dataclass(frozen=True)
class Judged:
    """One statement and what the author made of it."""

    statement: dict
    """The statement as the file has it."""
    result: str
    """The kind that was planned, `asks` or `not understood`."""
    items: tuple[str, ...] = ()
    """For each stated item: `taken up`, `listed` or `lost`."""
    plan: dict | None = None
    """The plan, where there is one."""


def statements(name):
    """Return the statements of a set."""
    if name == "external":
        path = FOLDER / "problems.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        rows = [json.loads(line) for line in lines]
        return [
            {"id": row["problem_id"], "kind": row["type_hint"], "language": "english", "text": row["statement"]}
            for row in rows
        ]
    path = Path(__file__).with_name("statements") / f"{name}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def judge(statement):
    """Return what the author makes of a statement."""
    text = statement["text"]
    artifacts = pipeline(text)
    analysis, plan = artifacts["analysis"], artifacts["plan"]
    if analysis.get("open_questions"):
        return Judged(statement, ASKED)
    if analysis.get("not_understood"):
        return Judged(statement, REFUSED)
    verdict = judged("plan", plan, text)["plan_medium"]
    orphans = {finding.where for finding in verdict.findings if finding.code == "plan.orphan_step"}
    items = tuple(_fate(item, plan, orphans) for item in statement.get("items", ()))
    return Judged(statement, analysis["problem_type"], items, plan)


def _fate(item, plan, orphans):
    """Return whether a step satisfies and names the item, whether it is only listed, or whether it is lost."""
    found = [one for one in plan.get("requirements", ()) if folded(item["quote"]) in folded(one["quote"])]
    steps = [step for step in plan["steps"] if step["step_id"] not in orphans]
    for requirement in found:
        for step in steps:
            if requirement["id"] in step.get("satisfies", ()) and folded(item["quote"]) in folded(step["description"]):
                return "taken up"
    return "listed" if found else "lost"


def confusion(results):
    """Return how often each kind had each result."""
    return Counter((one.statement["kind"], one.result) for one in results)


def shares(results):
    """Return the numerators and denominators of the published shares."""
    software = [one for one in results if one.statement["kind"] != "none"]
    english = [one for one in software if one.statement["language"] == "english"]
    planned = [one for one in software if one.result in PLANNED]
    items = [fate for one in results for fate in one.items]
    return {
        "kinds right among those planned": (sum(one.result == one.statement["kind"] for one in planned), len(planned)),
        "English software statements asked about": (sum(one.result == ASKED for one in english), len(english)),
        "English software statements refused": (sum(one.result == REFUSED for one in english), len(english)),
        "texts in other languages planned": (
            sum(one.result in PLANNED for one in results if one.statement["language"] != "english"),
            sum(one.statement["language"] != "english" for one in results),
        ),
        "texts not about software planned": (
            sum(one.result in PLANNED for one in results if one.statement["kind"] == "none"),
            sum(one.statement["kind"] == "none" for one in results),
        ),
        "stated items taken up or listed": (sum(fate != "lost" for fate in items), len(items)),
        "stated items taken up by a step": (sum(fate == "taken up" for fate in items), len(items)),
    }


def report(results):
    """Return the confusion table and the shares as Markdown."""
    columns = (*PLANNED, ASKED, REFUSED)
    counts = confusion(results)
    rows = [
        f"| labelled as | {' | '.join(columns)} |",
        f"|---|{'---|' * len(columns)}",
        *(f"| `{kind}` | {' | '.join(str(counts[kind, one]) for one in columns)} |" for kind in KINDS),
        "",
        "| share | measured |",
        "|---|---|",
        *(f"| {name} | {part} of {whole} |" for name, (part, whole) in shares(results).items()),
    ]
    return "\n".join(rows)


def misses(results):
    """Yield a line for every wrong kind, question and lost item."""
    for one in results:
        name, kind = one.statement["id"], one.statement["kind"]
        if one.result != (REFUSED if kind == "none" else kind):
            yield f"{name}: {kind} -> {one.result}: {folded(one.statement['text'])[:110]}"
        for item, fate in zip(one.statement.get("items", ()), one.items, strict=False):
            if fate != "taken up":
                yield f"{name}: {fate}: {item}"


def published():
    """Return the measured block as the documentation holds it."""
    return PAGE.read_text(encoding="utf-8").partition(START)[2].partition(END)[0].strip()


def main():
    """Print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument("--misses", action="store_true", help="show what was missed")
    parser.add_argument("--write", action="store_true", help="write the held-out table into the documentation")
    arguments = parser.parse_args()
    for name in arguments.sets or SETS:
        results = [judge(statement) for statement in statements(name)]
        print(f"## {name}: {len(results)} statements\n\n{report(results)}\n")
        if arguments.misses:
            print("\n".join(misses(results)), "\n")
    if arguments.write:
        text = PAGE.read_text(encoding="utf-8")
        head, tail = text.partition(START)[0], text.partition(END)[2]
        table = report([judge(statement) for statement in statements("held_out")])
        PAGE.write_text(f"{head}{START}\n\n{table}\n\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
