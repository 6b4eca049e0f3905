"""An honest attestation raises no alarm, and every edit of one is found: a share here, all in `make soak`.

`REPLAN_ATTESTATIONS=1000` attests so many runs; `REPLAN_ATTESTATION_EDITS=10000` makes so many edits.
"""

import ast
import copy
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from replan.verifier import verify_attestation
from replan.verifier.verify_attestation import lines, verify
from tests.attestation.edits import EDITS, LIES, by_another_key, by_its_owner
from tests.attestation.simulated_runs import OTHER_KEY, PLAYED, PUBLIC, attestation, file_of

HONEST = int(os.environ.get("REPLAN_ATTESTATIONS", "60"))
COUNT = int(os.environ.get("REPLAN_ATTESTATION_EDITS", "600"))
BASES = (*range(12), 13, 45)
"""The runs of each kind that are edited; in the last two, moves were weighed."""
SOURCE = Path(verify_attestation.__file__)


@pytest.mark.parametrize("kind", PLAYED)
def test_honest_runs_raise_no_alarm(kind):
    """S6: budgets, decisions, order and times of every finished run follow from its records."""
    done, seed = 0, 0
    while done < HONEST // len(PLAYED):
        made = file_of(kind, seed)
        seed += 1
        if made is None:
            continue
        report = verify(made, PUBLIC)
        assert report.wrong == [], (kind, seed - 1)
        assert report.proved, (kind, seed - 1)
        assert report.claimed, (kind, seed - 1)
        done += 1


TRIES_MAX = 2_000
"""How often an edit is tried on some run until it applies."""


def _base(dice):
    made = attestation(dice.choice(["planning", "planning", *PLAYED]), dice.choice(BASES))
    return None if made is None else copy.deepcopy(made)


def _edited(seed, edit=None):
    """Return the bytes of an edited file, by the edit that is drawn or given, once one applies."""
    dice = random.Random(seed)
    edit = edit or dice.choice(EDITS)
    for _ in range(TRIES_MAX):
        made = _base(dice)
        data = None if made is None else edit(dice, made)
        if data is not None:
            return edit, data
    raise AssertionError(f"{edit.__name__} applies to none of the runs")


def test_every_edit_is_found():
    rebuilt = 0
    for seed in range(COUNT):
        edit, data = _edited(seed)
        rebuilt += edit in (by_another_key, by_its_owner)
        assert verify(data, PUBLIC).wrong, (edit.__name__, seed)
    assert rebuilt >= COUNT // 20


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_a_lie_by_the_owner_of_the_key_is_found_where_it_contradicts_other_records(lie, monkeypatch):
    monkeypatch.setattr("tests.attestation.edits.LIES", (lie,))
    for seed in range(3):
        _, data = _edited(seed, by_its_owner)
        assert verify(data, PUBLIC).wrong, (lie.__name__, seed)


def test_a_file_by_another_key_is_whole_and_is_named_as_such():
    made = file_of("planning", 1, OTHER_KEY)
    report = verify(made)
    assert report.wrong == []
    assert "nobody has said whose key that is" in report.proved[0]
    [cause] = verify(made, PUBLIC).wrong
    assert cause.endswith(f"not by {PUBLIC}")


def test_the_verifier_is_short_and_needs_the_standard_library_and_cryptography():
    text = SOURCE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    assert sorted(path.name for path in SOURCE.parent.glob("*.py")) == ["__init__.py", "verify_attestation.py"]
    imported = set()
    for node in ast.walk(ast.parse(text)):
        imported |= {each.name for each in node.names} if isinstance(node, ast.Import) else set()
        imported |= {node.module} if isinstance(node, ast.ImportFrom) else set()
    names = {name.partition(".")[0] for name in imported}
    assert names - sys.stdlib_module_names == {"cryptography"}


def test_the_verifier_is_a_program_of_its_own(tmp_path):
    """It runs from a folder without the product, and its exit code says whether something is wrong."""
    (tmp_path / "verifier.py").write_bytes(SOURCE.read_bytes())
    made = file_of("execution", 1)
    (tmp_path / "good.json").write_bytes(made)
    (tmp_path / "bad.json").write_bytes(made.replace(b'"version":1', b'"version":2'))

    def run(*arguments):
        command = [sys.executable, "-I", "verifier.py", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    good, bad = run("good.json", PUBLIC), run("bad.json", PUBLIC)
    assert (good.returncode, good.stdout.splitlines()) == (0, lines(verify(made, PUBLIC)))
    assert (bad.returncode, bad.stdout) == (9, "WRONG    signature: the file is not what was signed\n")
    assert run("gone.json").returncode == 9
