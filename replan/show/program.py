"""How the user has called this program: what hints must begin with, to be copied and pasted."""

import shlex
import shutil
import sys
from pathlib import Path


def program() -> str:
    """Return `replan`, or the path to it where the shell would not find it, or find another one, under that name."""
    called = sys.argv[0]
    if Path(called).name != "replan" or not Path(called).exists():  # Called as a module, or by a test.
        return "replan"
    found = shutil.which("replan")
    return "replan" if found is not None and Path(found).samefile(called) else shlex.quote(called)
