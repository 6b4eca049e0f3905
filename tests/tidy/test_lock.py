"""The locks: complete, hashed, and free of any place they were made at."""

import re
import tomllib
from importlib import metadata

import pytest

from tests.tidy.source import ROOT

PARTS = {
    "requirements-deploy.lock": {"trio", "psycopg", "procrastinate", "starlette", "hypercorn", "hatchling"},
    "requirements-run.lock": {"trio", "openai", "apsw", "hatchling", "pytest"},
}
"""The locks that are parts of the whole one, with some packages of each."""
RUNNING_BYTES_MAX = 100_000_000
"""Bytes of what is installed to run `replan` without extras, its compiled modules included."""


def pins(name):
    """Return the versions of a lock by the name of the package."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9.-]+)==([^ ;]+)", text, re.MULTILINE))


@pytest.mark.parametrize("name", ["requirements.lock", *PARTS])
def test_a_lock_names_no_place(name):
    """Only names, versions, markers and hashes: the lock works with any index."""
    lock = (ROOT / name).read_text(encoding="utf-8")
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
    names = {re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-") for requirement in declared}
    assert names <= pins("requirements.lock").keys()


@pytest.mark.parametrize("name", PARTS)
def test_a_lock_of_a_part_has_the_versions_of_the_whole_and_nothing_for_tests(name):
    assert pins(name).items() <= pins("requirements.lock").items()
    assert PARTS[name] <= pins(name).keys()
    assert not {"pytest-trio", "hypothesis", "mypy", "ruff"} & pins(name).keys()


def test_running_needs_less_than_100_megabytes():
    """What another platform needs is not installed here, and does not count."""
    installed = [
        one for one in metadata.distributions() if one.name.lower().replace("_", "-") in pins("requirements-run.lock")
    ]
    files = [file.locate() for one in installed for file in one.files or ()]
    assert len(installed) > 30
    assert 10_000_000 < sum(file.stat().st_size for file in files if file.exists()) < RUNNING_BYTES_MAX
