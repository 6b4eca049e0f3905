"""The options, arguments and help of `completion`."""

import click

from replan.cli.options import common, examples, json_option

_COMPLETION = examples(
    "echo 'eval \"$(replan completion bash)\"' >> ~/.bashrc",
    "echo 'eval \"$(replan completion zsh)\"' >> ~/.zshrc",
    "replan completion fish > ~/.config/fish/completions/replan.fish",
)


@click.command(epilog=_COMPLETION, short_help="Print what makes your shell complete commands, ids and names.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@common
def completion(*, shell: str, as_json: bool) -> int:
    """Print the script that makes SHELL complete commands, options, ids of runs and questions, workflows and searches.

    The examples install it.
    """
    from replan.cli.commands.completion import print_completion

    return print_completion(shell, as_json=as_json)
