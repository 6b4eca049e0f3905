"""`completion`: prints the script by which a shell completes what is typed."""

import click

from replan.cli.exits import Exit
from replan.cli.options import common, examples, json_option
from replan.setup.command_name import NAME

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
    from click.shell_completion import get_completion_class

    from replan.cli.app import app
    from replan.cli.terminal.plain import print_json, print_text

    completion = get_completion_class(shell)
    assert completion is not None
    script = completion(app, {}, NAME, f"_{NAME.upper()}_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "install": _INSTALL[shell], "script": script})
        return Exit.OK
    print_text(f"# Install it with: {_INSTALL[shell]}\n{script.rstrip()}\n")
    return Exit.OK


_INSTALL = {
    "bash": "echo 'eval \"$(replan completion bash)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(replan completion zsh)\"' >> ~/.zshrc",
    "fish": "replan completion fish > ~/.config/fish/completions/replan.fish",
}
"""The line that installs the script of each shell."""
