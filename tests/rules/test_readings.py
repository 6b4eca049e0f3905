"""What the built-in author reads in the held-out statements, and what it writes for some texts (`readings.txt`).

`python -m tests.rules.test_readings` writes the file anew after an intended change, for a review of the difference.
"""

import json
from dataclasses import asdict, is_dataclass
from pathlib import Path

from tests.rules.author import PROBLEMS, pipeline, read
from tests.rules.evaluation import statements

FILE = Path(__file__).with_name("readings.txt")
SHOWN = ("facts", "classification", "understanding", "decision", "stated", "language")


def plain(value):
    """Return a value as one line of JSON, without what is empty."""
    return json.dumps(_kept(value), sort_keys=True, ensure_ascii=False, default=str)


def _kept(value):
    if is_dataclass(value):
        value = asdict(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _kept(each) for key, each in value.items() if each or each is False}
    if isinstance(value, frozenset | set):
        return sorted(value)
    return [_kept(each) for each in value] if isinstance(value, list | tuple) else value


def lines():
    """Yield what is read in each statement, and the artifacts for the shipped problems."""
    for statement in statements("held_out"):
        request = read(statement["text"])
        yield f"= {statement['id']}"
        yield from (f"{name}: {plain(getattr(request, name))}" for name in SHOWN if getattr(request, name))
    for name, text in PROBLEMS.items():
        yield f"= {name}"
        for role, artifact in pipeline(text).items():
            yield from (f"{role}.{key}: {plain(value)}" for key, value in artifact.items())


def test_each_text_is_read_and_planned_as_it_is_written_down():
    assert [*lines()] == FILE.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
