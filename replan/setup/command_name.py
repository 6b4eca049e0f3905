"""The command by which the user called this program. Hints begin with it, so that they can be copied and pasted."""

import shlex
import sys
from pathlib import Path

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
