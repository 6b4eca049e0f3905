"""The table of what the built-in author makes of the statements in `tests/rules/statements/trackers.yaml`."""

from page_parts.markdown import table
from tests.rules.evaluation import judge, statements


def trackers() -> str:
    """Return a row for each statement: the kinds it has, got at first and gets now, and the demands in a step."""
    rows = []
    for statement in statements("trackers"):
        judged = judge(statement)
        carried = "-" if judged.plan is None else "{} of {}".format(*carried_of(judged.plan))
        title = statement["text"].partition("\n")[0]
        kinds = (f"`{kind}`" for kind in (statement["expect"], statement["first"], judged.result))
        rows.append((title, *kinds, carried, statement["remark"]))
    return table(("Statement", "Is", "At first", "Now", "Demands in a step", "Remark"), rows)


def carried_of(plan: dict) -> tuple[int, int]:
    """Return how many of the requirements of a plan a step satisfies, and how many there are."""
    satisfied = {name for step in plan["steps"] for name in step.get("satisfies", ())}
    stated = plan.get("requirements", ())
    return sum(item["id"] in satisfied for item in stated), len(stated)
