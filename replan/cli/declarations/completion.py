"""The options, arguments and help of `completion`."""

import click

from replan.cli.options import common, examples

_COMPLETION = examples(
    "echo 'eval \"$(replan completion bash)\"' >> ~/.bashrc",
    "echo 'eval \"$(replan completion zsh)\"' >> ~/.zshrc",
    "replan completion fish > ~/.config/fish/completions/replan.fish",
)


@click.command(epilog=_COMPLETION, short_help="Print what makes your shell complete commands, ids and names.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common
def completion(*, shell: str) -> int:
    """Print the script that makes SHELL complete commands, options, run ids, workflows and searches.

    The examples install it.
    """
    from replan.cli.commands.completion import print_completion

    return print_completion(shell)
