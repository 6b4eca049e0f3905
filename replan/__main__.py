"""`python -m replan` is the command `replan`."""

from replan.cli import main

main()
