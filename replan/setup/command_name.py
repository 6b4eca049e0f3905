"""How the user has called this program: what every hint must begin with, to be copied and pasted."""

import shlex
import shutil
import sys
from pathlib import Path

NAME = "replan"


def program() -> str:
    """Return `replan`, or what calls it where that name would call nothing, or another one.

    That is the path to it, or `PYTHON -m replan`. In a process that another program has started, it is the name.
    """
    called = sys.argv[0] if sys.argv else ""
    if Path(called).name == "__main__.py" and Path(called).parent.name == NAME:
        return f"{shlex.quote(sys.orig_argv[0])} -m {NAME}"
    if Path(called).name != NAME or not Path(called).exists():
        return NAME
    found = shutil.which(NAME)
    return NAME if found is not None and Path(found).samefile(called) else shlex.quote(called)
