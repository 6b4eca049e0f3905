"""The lock: complete, hashed, and free of any place it was made at."""

import re
import tomllib

import pytest

from tests.tidy.source import ROOT


def test_the_lock_names_no_place():
    """Only names, versions, markers and hashes: the lock works with any index."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert not re.search(r"^\s*-", lock.replace("    --hash=sha256:", ""), re.MULTILINE)
    for line in re.findall(r"^[a-z].*", lock, re.MULTILINE):
        assert re.fullmatch(r"[a-z0-9.-]+==[\w.!+]+( ; .+)? \\", line)


@pytest.mark.parametrize("name", ["dependencies", "dev", "build-system"])
def test_the_lock_holds_every_declared_dependency(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = {
        "dependencies": project["project"]["dependencies"],
        "dev": project["dependency-groups"]["dev"],
        "build-system": project["build-system"]["requires"],
    }[name]
    locked = set(
        re.findall(r"^([a-z0-9.-]+)==", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)
    )
    names = {re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-") for requirement in declared}
    assert names <= locked
