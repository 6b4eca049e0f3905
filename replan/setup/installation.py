"""Finds the version, the data folder and the command of this installation.

Tunes the garbage collector of its process.
"""

import gc
import os
import shlex
import sys
from importlib import import_module
from pathlib import Path


def release() -> str:
    """Return the version, such as `1.2.0`.

    For a checkout that is not installed, return a text that says that it is not installed.
    """
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - `--help` is quick without it

    try:
        return version("replan")
    except PackageNotFoundError:
        return "of a checkout that is not installed"


NAME = "replan"


def data_root(package: str = NAME) -> Path:
    """Return the folder that contains the folders `prompts/` and `configs/` of a package's distribution.

    In a wheel, this is the folder `_data` in the package. In a checkout, it is the folder that contains the package.
    The package must be installed as files, as pip and uv install it, not as an archive.
    """
    folder = Path(str(import_module(package).__file__)).resolve().parent
    bundled = folder / "_data"
    return bundled if bundled.is_dir() else folder.parent


def program() -> str:
    """Return the command that calls this installation, for messages.

    This is `replan` if the shell finds this installation by that name. Otherwise, it is the path of the command, or
    `PYTHON -m replan`. In a process of another program, it is `replan`.
    """
    path = sys.argv[0] if sys.argv else ""
    if Path(path).name == "__main__.py" and Path(path).parent.name == NAME:
        return f"{shlex.quote(sys.orig_argv[0])} -m {NAME}"
    if Path(path).name != NAME or not Path(path).exists():
        return NAME
    import shutil  # noqa: PLC0415 -- it loads every compression that Python has

    on_path = shutil.which(NAME)
    return NAME if on_path is not None and Path(on_path).samefile(path) else shlex.quote(path)


YOUNG = 200_000
"""How many new objects trigger a garbage collection of the youngest generation. Before a collection, unused objects in
reference cycles take at most about 30 MB.
"""
MIDDLE = 10
"""How many garbage collections of the youngest generation trigger a collection of the middle generation."""


def start_quickly() -> None:
    """Prepare this process for its imports. A library must not call this in a program of somebody else.

    Garbage collections become rare, because most new objects are needed. Pydantic does not search for its plug-ins,
    because this search reads the metadata of every installed distribution.
    """
    gc.set_threshold(YOUNG, MIDDLE, gc.get_threshold()[2])
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def tune() -> None:
    """Exclude all present objects from garbage collections, and make collections rarer.

    A library must not call this in a program of somebody else.
    """
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, gc.get_threshold()[2])
