"""The commands below `lab`: they measure models and ways to plan. Each module is imported when its command is used."""

import click

from replan.cli.command_table import LabGroup
from replan.cli.options import common, examples


@click.group(
    cls=LabGroup,
    epilog=examples(
        "replan lab profile -m qwen3:8b --max-calls 600",
        "replan lab race problems/ -m qwen3:8b --max-calls 2000",
        "replan lab experiment docs/experiments/quick.yaml",
        "replan lab whatif --policy strict.yaml",
    ),
)
@common
def lab() -> None:
    """Measure models and ways to plan: experiments, races, profiles of models, edited rules, planners."""
