"""The page "How to add an agent" works as printed: its package is installed, found and driven by the real commands."""

import os
import sys

from tests.docs.blocks import ROOT, blocks
from tests.docs.test_examples import INSTALLING, Reader

PAGE = ROOT / INSTALLING
PIP = """#!{python}
import subprocess, sys, zipfile
from pathlib import Path
assert sys.argv[1:] == ["install", "."], sys.argv
subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", {wheels!r}], check=True)
for wheel in Path({wheels!r}).glob("*.whl"):
    zipfile.ZipFile(wheel).extractall({site!r})
"""
"""Builds the wheel as `pip` does, without a network, and unpacks it into a folder of packages."""


class Stranger(Reader):
    """Follows a page in an environment of its own, in which every command is a process that finds what is installed."""

    def __init__(self, folder):
        commands, site = folder / "bin", folder / "site"
        commands.mkdir()
        scripts = {
            "pip": PIP.format(python=sys.executable, wheels=str(folder / "wheels"), site=str(site)),
            "replan": f"#!{sys.executable}\nfrom replan.cli import main\n\nmain()\n",
            "python": f'#!/bin/sh\nexec {sys.executable} "$@"\n',
        }
        for name, text in scripts.items():
            (commands / name).write_text(text)
            (commands / name).chmod(0o700)
        super().__init__(folder, commands)
        self.environment |= {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]), "GIT_CONFIG_GLOBAL": os.devnull}


def test_the_page_adds_an_agent(tmp_path):
    """Every block in order; blocks of code are files or commands, none is for show."""
    stranger = Stranger(tmp_path)
    for block in blocks(PAGE):
        assert block.file or block.exit is not None or "output" in block.words, f"line {block.line}: nobody tests this"
        stranger.follow(block)
