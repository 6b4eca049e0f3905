"""What the world may import: `replan`, `replan.plugins` and `replan.testing`. The rest may change at any time."""

import inspect
import re
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("public_names.txt")
DOORS = ("replan", "replan.plugins", "replan.testing")
_IMPORT = re.compile(r"^\s*(?:from|import) ((?:actors|runtime|replan)(?:\.\w+)*)\b", re.MULTILINE)


def test_the_public_names_are_those_of_the_list():
    names = [f"{door}.{name}" for door in DOORS for name in import_module(door).__all__]
    assert LIST.read_text(encoding="utf-8").split() == names


@pytest.mark.parametrize("door", DOORS)
def test_every_public_name_has_a_docstring_of_its_own(door):
    module = import_module(door)
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            text = (vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__) or ""
            assert re.match(r"[A-Z`].*[.:`)]", text), f"{door}.{name}"
            assert not text.startswith(f"{name}("), f"{door}.{name}"  # What `dataclass` writes for none.


def test_pages_and_examples_import_only_public_modules():
    listed = subprocess.run(
        ["git", "ls-files", "README.md", "docs/*.md", "docs/examples/*.py", "packages/*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    pages = [ROOT / name for name in listed.stdout.split()]
    assert len(pages) > 60
    found = {
        f"{page.relative_to(ROOT)}: {module}"
        for page in pages
        for module in _IMPORT.findall(page.read_text(encoding="utf-8"))
        if module not in DOORS
    }
    assert not found, sorted(found)
