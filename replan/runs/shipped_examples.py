"""The shipped examples of plans to execute, copied into a new folder: the shipped files stay as they are.

An example is a folder in `configs/examples` with a plan, a tools file, a script of replies in place of a model, and the
project that the tools work in.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from replan.setup.data_files import data_root
from runtime.core.errors import UsageProblem

WORKFLOW = "single"
"""The workflow by which examples replan: one call of the scripted model."""


@dataclass(frozen=True, slots=True)
class ShippedExample:
    """An example, ready to be executed once its project is copied."""

    folder: Path
    """Its folder among the shipped files."""

    @property
    def plan(self) -> str:
        """The path of its plan."""
        return str(self.folder / "plan.json")

    @property
    def tools(self) -> str:
        """The path of its tools file."""
        return str(self.folder / "tools.yaml")

    @property
    def model(self) -> str:
        """Its model, as after `--model`: a script."""
        return f"scripted:{self.folder / 'replies.yaml'}"

    def copy_project(self, target: Path) -> None:
        """Copy its project into a new folder. Raises `UsageProblem` where that exists or cannot be made."""
        if target.exists() or target.is_symlink():
            hint = "remove it, or name another folder with --workspace"
            raise UsageProblem("this folder exists already", place=str(target), hint=hint)
        try:
            shutil.copytree(self.folder / "project", target, ignore=shutil.ignore_patterns("__pycache__"))
        except OSError as error:
            cause = f"the example cannot be copied: {(error.strerror or str(error)).lower()}"
            raise UsageProblem(cause, place=str(target), hint="name another folder with --workspace") from None


def example_named(name: str, root: Path | None = None) -> ShippedExample:
    """Return a shipped example by its name. Raises `UsageProblem` for any other name."""
    folder = (root or data_root()) / "configs" / "examples"
    names = sorted(each.parent.name for each in folder.glob("*/plan.json"))
    if name not in names:
        raise UsageProblem(f"there is no example {name!r}", place="--example", hint=f"one of {', '.join(names)}")
    return ShippedExample(folder / name)
