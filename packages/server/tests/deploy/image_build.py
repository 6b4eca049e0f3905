"""Runs the commands of the Dockerfile in a folder, without Docker.

From the command line: `python -m packages.server.tests.deploy.image_build FOLDER`.

The folder takes the place of `/`: paths in the commands are moved below it, `COPY` copies what .dockerignore lets
through, and commands that change users are left out. What this cannot show is the base image itself.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT

MOVED = ("/opt/replan", "/src", "/var/lib/replan")
"""Paths of the image that are made in the folder."""
USERS = ("groupadd", "useradd", "install --directory --owner")


def instructions(text):
    """Return the instructions of a Dockerfile as pairs of a name and its arguments."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def allowed(text):
    """Return the names that a .dockerignore with a closed list lets through."""
    return [line[1:] for line in text.splitlines() if line.startswith("!")]


def moved(text, folder):
    """Return a command with the image's paths below a folder."""
    for path in MOVED:
        text = re.sub(rf"(?<![\w/]){path}\b", f"{folder}{path}", text)
    return text


def build(folder):
    """Run the Dockerfile's commands, and print each."""
    work, context = folder, folder / "context"
    names = allowed((ROOT / ".dockerignore").read_text())
    context.mkdir(parents=True)
    tracked = subprocess.run(["git", "ls-files", *names], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in tracked.stdout.splitlines():
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, context / name)
    for name, arguments in instructions((ROOT / "Dockerfile").read_text()):
        print(name, arguments, flush=True)
        match name:
            case "WORKDIR":
                work = Path(moved(arguments, folder))
                work.mkdir(parents=True, exist_ok=True)
            case "COPY" if not arguments.startswith("--from"):
                *sources, target = arguments.split()
                for source in sources:
                    copy = shutil.copytree if (context / source).is_dir() else shutil.copyfile
                    copy(context / source, work / (Path(source).name if target == "./" else target))
            case "RUN" if not arguments.startswith(USERS):
                subprocess.run(["/bin/sh", "-c", moved(arguments, folder)], cwd=work, check=True)
            case _:
                pass


if __name__ == "__main__":
    build(Path(sys.argv[1]).absolute())
