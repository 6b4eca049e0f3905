"""Runs the command `replan` as `python -m replan`."""

from replan.cli import main

main()
