"""The wheels: their content, and the command in an environment of its own."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from replan.setup.installation import data_root

ROOT = Path(__file__).resolve().parents[2]
DATA = ("prompts", "configs")


def _run(*command, cwd):
    """Run a command without this process's import path; return its output."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    result = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.strip()


def _built(source, folder):
    """Build the wheel of a folder of the checkout, and return its file."""
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=source)
    (built,) = folder.glob("*.whl")
    return built


def _files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def _data_files():
    return {f"{name}/{path}" for name in DATA for path in _files(ROOT / name)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel of the core from the checkout, offline."""
    return _built(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Build the wheels of the other distributions."""
    return [_built(path.parent, tmp_path_factory.mktemp("dist")) for path in ROOT.glob("packages/*/pyproject.toml")]


@pytest.fixture(scope="module")
def installed(wheel, others, tmp_path_factory):
    """Install the wheels into a new environment that shares only the dependencies; return its `bin`."""
    home = tmp_path_factory.mktemp("installed")
    _run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    options = ("--no-deps", "--no-index", "--quiet", wheel, *others)
    if uv := shutil.which("uv"):  # As in the Makefile: an environment that uv has made has no pip.
        _run(uv, "pip", "install", "--python", home / "bin" / "python", *options, cwd=home)
    else:
        pip = (sys.executable, "-m", "pip", "--python", home / "bin" / "python")
        _run(*pip, "install", "--no-compile", *options, cwd=home)
    (packages,) = home.glob("lib/python*/site-packages")
    # A .pth file in a folder that is added by a .pth file is not read, so that the checkout is not on the path.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return home / "bin"


@pytest.fixture
def folder_with_same_names(tmp_path):
    """A folder with packages of the same names, which must never be imported."""
    for name in ("runtime", "actors", "replan"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise SystemExit('the wrong {name}')", encoding="utf-8")
    return tmp_path


def test_the_wheel_holds_the_packages_the_data_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"replan", "actors", "runtime"}
    assert {name.removeprefix("replan/_data/") for name in names if name.startswith("replan/_data/")} == _data_files()
    assert {"replan/py.typed", "actors/py.typed", "runtime/py.typed"} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_wheel_holds_every_module_of_the_checkout(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for package in ("replan", "actors", "runtime"):
        assert {f"{package}/{path}" for path in _files(ROOT / package) if path.endswith(".py")} <= names


def test_the_other_wheels_hold_their_package_and_its_data(others):
    for file in others:
        names = set(zipfile.ZipFile(file).namelist())
        (package,) = {name.split("/")[0] for name in names if not name.split("/")[0].endswith(".dist-info")}
        source = ROOT / "packages" / package.removeprefix("replan_")
        assert {f"{package}/{path}" for path in _files(source / package) if path.endswith(".py")} <= names
        data = {f"{name}/{path}" for name in DATA if (source / name).is_dir() for path in _files(source / name)}
        assert {name.partition("/_data/")[2] for name in names if "/_data/" in name} == data


def test_data_is_found_in_the_checkout():
    assert data_root() == ROOT
    assert all((data_root() / name).is_dir() for name in DATA)


def test_data_is_found_in_an_installed_wheel(installed, folder_with_same_names):
    root = Path(
        _run(
            installed / "python",
            "-P",
            "-c",
            "import replan.setup.installation as d; print(d.data_root())",
            cwd=folder_with_same_names,
        )
    )
    assert root.is_relative_to(installed.parent)
    found = {path for path in _files(root) if path.split("/")[0] in DATA and "/__pycache__/" not in path}
    assert found == _data_files()  # An installer compiles the Python files of the examples too.


def test_the_command_ignores_packages_of_the_same_names_in_the_folder(installed, folder_with_same_names):
    """Also for a whole run, since most modules are imported late."""
    assert "Usage" in _run(installed / "replan", "--help", cwd=folder_with_same_names)
    problem = ROOT / "configs" / "problems" / "login_timeout.md"
    output = _run(installed / "replan", "run", problem, "-m", "template:bug", "--json", cwd=folder_with_same_names)
    assert json.loads(output)["outcome"] == "success"


def test_an_installed_wheel_runs_an_experiment(installed, tmp_path):
    """The published experiments are not in it; a user's own file needs nothing but shipped names."""
    (tmp_path / "login.md").write_text("The login fails with a timeout when the session store is slow.")
    (tmp_path / "mine.yaml").write_text(
        "{name: mine, description: d, problems: [login.md], models: ['simulated:base'], pipelines: [{name: search}], "
        "seeds: {first: 0, count: 1}, baseline: search}"
    )
    printed = json.loads(_run(installed / "replan", "lab", "experiment", "mine.yaml", "--json", cwd=tmp_path))
    assert [row["trials"] for row in printed["arms"]] == [1]


def test_an_installed_wheel_imports_its_own_packages(installed, folder_with_same_names):
    code = "import replan, actors, runtime; print(*(m.__file__ for m in (replan, actors, runtime)), sep='\\n')"
    for line in _run(installed / "python", "-P", "-c", code, cwd=folder_with_same_names).splitlines():
        assert Path(line).is_relative_to(installed.parent)
