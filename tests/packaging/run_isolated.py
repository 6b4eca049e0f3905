"""Runs the tests of each distribution in an environment with only it and the core: `make distributions`.

    python -m tests.packaging.run_isolated [--only NAME] [ARGUMENT_OF_PYTEST...]

Each distribution gets a virtual environment in `build/distributions`. It has links to everything that is installed in
this one, except the other distributions of this repository. It keeps the libraries that only these need. In the
environment of the core, the example `repair` runs too. Exits 1 if a test fails.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.tidy.source import PLUGGED_IN, ROOT
from tests.tidy.test_layers import WHOLE

CORE = "replan"
TESTS = {
    CORE: ["tests", *(f"--ignore={folder}" for folder in WHOLE)],
    **{package: [f"packages/{folder}/tests"] for package, folder in PLUGGED_IN.items()},
}
"""The arguments of pytest for each distribution, by its package."""


def make_environment(folder, package):
    """Make a virtual environment with the core and one package (or only the core). Return its folder of programs."""
    venv.create(folder, clear=True, symlinks=True)
    (libraries,) = folder.glob("lib/python*/site-packages")
    others = tuple(name for name in PLUGGED_IN if name != package)
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.removeprefix("_").startswith(others):
            (libraries / path.name).symlink_to(path)
    here, programs = sysconfig.get_path("scripts"), folder / "bin"
    for path in Path(here).iterdir():
        target = programs / path.name
        if not path.is_file() or target.exists():
            continue
        content = path.read_bytes()
        if content.startswith(b"#!"):  # A script names the interpreter of its environment.
            target.write_bytes(content.replace(f"{here}/python".encode(), f"{programs}/python".encode()))
            target.chmod(0o755)
        else:
            target.symlink_to(path)
    return programs


def run_all(packages, arguments):
    """Run the tests of the packages, and return the packages whose tests fail."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    failed = []
    for package in packages:
        programs = make_environment(ROOT / "build" / "distributions" / package, package)
        commands = [[programs / "python", "-m", "pytest", *TESTS[package], *arguments]]
        if package == CORE:
            workspace = programs.parent / "repair"
            commands.insert(0, [programs / "replan", "do", "--example", "repair", "--workspace", workspace])
        print(f"== {package}", flush=True)
        own = environment | {"REPLAN_HOME": str(programs.parent / "home")}
        if not all(subprocess.run(command, cwd=ROOT, env=own, check=False).returncode == 0 for command in commands):
            failed.append(package)
    return failed


def main():
    """Run the tests, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=TESTS, help="only this distribution")
    options, arguments = parser.parse_known_args()
    failed = run_all([options.only] if options.only else TESTS, arguments)
    print(f"failed: {', '.join(failed)}" if failed else "all pass")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
