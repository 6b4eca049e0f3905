"""The version of this installation, and the folder of its data, in a checkout or in a wheel."""

import shlex
import sys
from importlib.resources import files
from pathlib import Path


def release() -> str:
    """Return the version; a text that says so for a checkout that is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - `--help` is quick without it

    try:
        return version("replan")
    except PackageNotFoundError:
        return "of a checkout that is not installed"


__all__ = ["data_root"]


def data_root() -> Path:
    """Return the folder that holds `prompts/` and `configs/`.

    A wheel carries both as `replan/_data`; in a checkout they are beside the package. The package must be
    installed as files, as pip and uv install it.
    """
    package = Path(str(files("replan")))
    bundled = package / "_data"
    return bundled if bundled.is_dir() else package.parent


NAME = "replan"


def program() -> str:
    """Return `replan`, or its path or `PYTHON -m replan` where that name would not call this installation.

    In a process of another program it is the name.
    """
    path = sys.argv[0] if sys.argv else ""
    if Path(path).name == "__main__.py" and Path(path).parent.name == NAME:
        return f"{shlex.quote(sys.orig_argv[0])} -m {NAME}"
    if Path(path).name != NAME or not Path(path).exists():
        return NAME
    import shutil  # noqa: PLC0415 -- it loads every compression that Python has

    on_path = shutil.which(NAME)
    return NAME if on_path is not None and Path(on_path).samefile(path) else shlex.quote(path)
