"""The page "How to add an agent" works as rendered: its package is installed, found and driven by real commands."""

import os
import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import ROOT, blocks
from tests.docs.reader import Reader
from tests.long.docs.test_examples import write_command

PAGE = ROOT / "docs" / "tutorial" / "first-agent.md"
PIP = """#!{python}
import subprocess, sys, zipfile
from pathlib import Path
assert sys.argv[1:] == ["install", "."], sys.argv
subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", {wheels!r}], check=True)
for wheel in Path({wheels!r}).glob("*.whl"):
    zipfile.ZipFile(wheel).extractall({site!r})
"""
"""Builds the wheel as `pip` does, without a network, and unpacks it into a folder of packages."""


def test_the_page_adds_an_agent(warm):
    """Every command finds what is installed."""
    with tempfile.TemporaryDirectory(prefix="rp") as name:
        folder = Path(name)
        commands, site = folder / "bin", folder / "site"
        commands.mkdir()
        write_command(
            commands / "pip", PIP.format(python=sys.executable, wheels=str(folder / "wheels"), site=str(site))
        )
        (commands / "replan").symlink_to(warm / "replan")
        reader = Reader(folder, commands)
        reader.environment |= {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]), "GIT_CONFIG_GLOBAL": os.devnull}
        with reader:
            for block in blocks(PAGE):
                reader.follow(block)
