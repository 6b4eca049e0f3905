"""The distributions beside the core need the core in their version, and each can be installed without the others."""

import subprocess
from importlib import metadata

import pytest

from tests.packaging.run_isolated import CORE, TESTS, make_environment
from tests.tidy.source import PLUGGED_IN, ROOT


@pytest.mark.parametrize("package", PLUGGED_IN)
def test_it_and_the_core_need_each_other_in_the_same_version(package):
    name, version = package.replace("_", "-"), metadata.version(CORE)
    assert metadata.version(name) == version
    assert f"{CORE}=={version}" in metadata.requires(name)
    [extra] = [line for line in metadata.requires(CORE) if line.startswith(name)]
    assert f"=={version};" in extra


@pytest.mark.parametrize("package", [CORE, "replan_lab"])
def test_an_environment_has_the_core_and_no_other_package(package, tmp_path):
    programs = make_environment(tmp_path / "environment", package)
    code = "from importlib.util import find_spec\nfrom importlib.metadata import entry_points\n"
    code += f"print(*(name for name in {list(TESTS)} if find_spec(name)))\n"
    code += "print(*{each.dist.name for each in entry_points(group='replan.commands')})"
    done = subprocess.run([programs / "python", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    others = [] if package == CORE else [package]
    found, plugged_in = done.stdout.splitlines()
    assert found.split() == [CORE, *others]
    assert plugged_in.split() == [name.replace("_", "-") for name in others]
    assert f"{programs}/python" in (programs / "replan").read_text().partition("\n")[0]


def test_the_tests_of_every_distribution_are_there():
    assert all((ROOT / folder).is_dir() for folder, *_ in TESTS.values())
