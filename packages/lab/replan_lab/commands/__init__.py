"""The commands of `replan lab`, which measure models and ways to plan.

A command's module is imported when somebody uses the command.
"""

import click

from replan.cli.command_table import CommandGroup, CommandRow
from replan.cli.options import common, examples, under

_ROWS = (
    ("experiment", "Compare ways to plan, with confidence intervals."),
    ("race", "Race workflows, policies and budgets on your problems."),
    ("recorded", "Evaluate policies on recorded dialogues of models."),
    ("queue", "Compare two orders of work on many tasks with one budget."),
    ("profile", "Measure a model, and find the settings that suit it."),
    ("whatif", "Replay recorded runs with edited rules."),
    ("pddl", "Plan problems in PDDL, and check plans for them."),
)


class LabGroup(CommandGroup):
    """The click group that contains the commands of `replan lab`."""

    def rows(self) -> dict[str, CommandRow]:
        """Return one table row for each command. The module of a command has the same name as the command."""
        return {name: CommandRow(name, "", text, f"replan_lab.commands.{name}:{name}") for name, text in _ROWS}


@click.group(
    cls=LabGroup,
    short_help="Measure models and ways to plan: experiments, races, planners.",
    epilog=examples(
        "replan lab profile -m qwen3:8b --max-calls 600",
        "replan lab race problems/ -m qwen3:8b --max-calls 2000",
        "replan lab experiment docs/experiments/quick.yaml",
        "replan lab whatif --policy strict.yaml",
    ),
)
@common
@under("Develop")
def lab() -> None:
    """Measure models and ways to plan: experiments, races, profiles of models, edited rules, planners."""
