"""Measures the built-in author on labelled problem statements: kinds, questions, and what becomes of stated items.

`python -m tests.rules.evaluation` prints the confusion table and the shares; see `statements/README.md`.
"""

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from actors.guards.fields import folded
from tests.rules.author import ROOT, judged, pipeline
from tests.support.external import FOLDER
from tests.support.yaml_files import read_yaml

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
    return read_yaml(path)


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
    # What only says how things are, or is out of scope, is demanded of nobody.
    demanded = [item for item in statement.get("items", ()) if item["kind"] != "scope"]
    items = tuple(_fate(item, plan, orphans) for item in demanded)
    return Judged(statement, analysis["problem_type"], items, plan)


def _fate(item, plan, orphans):
    """Return whether a step satisfies and names the item, whether it is only listed, or whether it is lost."""
    stated = plan.get("requirements", ())
    kept = [requirement for requirement in stated if folded(item["quote"]) in folded(requirement["quote"])]
    steps = [step for step in plan["steps"] if step["step_id"] not in orphans]
    for requirement in kept:
        for step in steps:
            if requirement["id"] in step.get("satisfies", ()) and folded(item["quote"]) in folded(step["description"]):
                return "taken up"
    return "listed" if kept else "lost"


def confusion(results):
    """Return how often each kind had each result."""
    return Counter((result.statement["kind"], result.result) for result in results)


def shares(results):
    """Return the numerators and denominators of the published shares."""
    software = [result for result in results if result.statement["kind"] != "none"]
    english = [result for result in software if result.statement["language"] == "english"]
    planned = [result for result in software if result.result in PLANNED]
    items = [fate for result in results for fate in result.items]
    return {
        "kinds right among those planned": (
            sum(result.result == result.statement["kind"] for result in planned),
            len(planned),
        ),
        "English software statements asked about": (sum(result.result == ASKED for result in english), len(english)),
        "English software statements refused": (sum(result.result == REFUSED for result in english), len(english)),
        "texts in other languages planned": (
            sum(result.result in PLANNED for result in results if result.statement["language"] != "english"),
            sum(result.statement["language"] != "english" for result in results),
        ),
        "texts not about software planned": (
            sum(result.result in PLANNED for result in results if result.statement["kind"] == "none"),
            sum(result.statement["kind"] == "none" for result in results),
        ),
        "stated demands taken up or listed": (sum(fate != "lost" for fate in items), len(items)),
        "stated demands taken up by a step": (sum(fate == "taken up" for fate in items), len(items)),
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
    for result in results:
        name, kind = result.statement["id"], result.statement["kind"]
        if result.result != (REFUSED if kind == "none" else kind):
            yield f"{name}: {kind} -> {result.result}: {folded(result.statement['text'])[:110]}"
        demanded = [item for item in result.statement.get("items", ()) if item["kind"] != "scope"]
        for item, fate in zip(demanded, result.items, strict=False):
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
        table = report([judge(statement) for statement in statements("held_out")])
        text = PAGE.read_text(encoding="utf-8")
        head, tail = text.partition(START)[0], text.partition(END)[2]
        PAGE.write_text(f"{head}{START}\n\n{table}\n\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
