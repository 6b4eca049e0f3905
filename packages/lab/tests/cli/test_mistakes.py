"""What users of the laboratory do wrong, in `data/mistakes.txt`, as in `tests/cli/test_mistakes.py`."""

import json
from pathlib import Path

import pytest

from packages.lab.tests.pddl.worlds import BLOCKS, SWAP, TWO
from tests.cli.samples import PLAN, PROBLEM
from tests.cli.test_mistakes import cases_in, made

CASES = cases_in((Path(__file__).parent / "data" / "mistakes.txt").read_text(encoding="utf-8"))
FILES = {
    "problem.md": PROBLEM,
    "plan.json": json.dumps(PLAN),
    "experiment.yaml": "name: x\nmodls: [rules]\n",
    "domain.pddl": BLOCKS,
    "problem.pddl": TWO,
    "plan.txt": SWAP,
    "fluents.pddl": "(define (domain d)\n  (:requirements :strips :fluents))",
    "forall.pddl": "(define (domain d) (:predicates (p ?x))\n  (:action a :effect\n    (forall (?x) (p ?x))))",
    "times.txt": "0: (unstack b a) [1.5]\n",
}


@pytest.mark.parametrize(("command", "code", "line"), CASES, ids=[case[0] for case in CASES])
def test_a_mistake_is_one_line_with_cause_place_and_next_step(tmp_path, command, code, line, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "work").mkdir()
    assert made({"folder": str(tmp_path)}, command, monkeypatch) == (int(code), line)
    assert line.endswith(")")
