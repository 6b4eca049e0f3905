"""The shipped examples of plans to execute. For each execution, the example's project is copied into a new folder.

An example is a folder in `configs/examples`. It has a plan, a tools file, the project in which the tools work, and
scripts with the replies of a model. Some examples also have the problem that the plan solves.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from replan.setup.installation import data_root
from runtime.core.errors import UsageProblem

WORKFLOW = "single"
"""The workflow that makes new plans for examples. It makes one call of the scripted model."""

_AUTHOR = ("-c", "user.name=Replan", "-c", "user.email=replan@localhost", "-c", "commit.gpgsign=false")


@dataclass(frozen=True, slots=True)
class ShippedExample:
    """An example. It can be executed after its project is copied."""

    folder: Path

    @property
    def plan(self) -> str:
        """The path of the example's plan."""
        return str(self.folder / "plan.json")

    @property
    def problem(self) -> str:
        """The path of the example's problem."""
        return str(self.folder / "problem.md")

    @property
    def planner(self) -> str:
        """The scripted model that plans the problem, in the form of `--model`."""
        return f"scripted:{self.folder / 'planning.yaml'}"

    @property
    def tools(self) -> str:
        """The path of the example's tools file."""
        return str(self.folder / "tools.yaml")

    @property
    def model(self) -> str:
        """The scripted model that the tools use, in the form of `--model`."""
        return f"scripted:{self.folder / 'replies.yaml'}"

    def copy_project(self, target: Path) -> None:
        """Copy the example's project into a new folder.

        If git is installed, the copy is a git repository with one commit.

        Raises `UsageProblem` if the folder exists or cannot be created.
        """
        if target.exists() or target.is_symlink():
            hint = "remove it, or name another folder with --workspace"
            raise UsageProblem("this folder exists already", place=str(target), hint=hint)
        try:
            shutil.copytree(self.folder / "project", target, ignore=shutil.ignore_patterns("__pycache__"))
        except OSError as error:
            cause = f"the example cannot be copied: {(error.strerror or str(error)).lower()}"
            raise UsageProblem(cause, place=str(target), hint="name another folder with --workspace") from None
        outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        if git := shutil.which("git"):  # If it is missing, the tools that need it say so.
            for words in (("init", "--quiet"), ("add", "."), (*_AUTHOR, "commit", "--quiet", "--message", "Begin")):
                subprocess.run([git, *words], cwd=target, env=outside, check=True, capture_output=True)  # noqa: S603 -- no shell, fixed words


def example_named(name: str, root: Path | None = None) -> ShippedExample:
    """Return a shipped example by its name. Raises `UsageProblem` for any other name."""
    folder = (root or data_root()) / "configs" / "examples"
    names = sorted(item.parent.name for item in folder.glob("*/plan.json"))
    if name not in names:
        raise UsageProblem(f"there is no example {name!r}", place="--example", hint=f"use one of {', '.join(names)}")
    return ShippedExample(folder / name)
