"""`completion`: prints the script by which a shell completes what is typed."""

from click.shell_completion import get_completion_class

from replan.cli.exits import Exit
from replan.cli.terminal.plain import print_text
from replan.setup.command_name import NAME

_INSTALL = {
    "bash": "echo 'eval \"$(replan completion bash)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(replan completion zsh)\"' >> ~/.zshrc",
    "fish": "replan completion fish > ~/.config/fish/completions/replan.fish",
}
"""The line that installs the script of each shell."""


def print_completion(shell: str) -> int:
    """Print the script of a shell, after a comment that says how it is installed. Return the exit code."""
    from replan.cli.app import app

    found = get_completion_class(shell)
    assert found is not None
    script = found(app, {}, NAME, f"_{NAME.upper()}_COMPLETE").source()
    print_text(f"# Install it with: {_INSTALL[shell]}\n{script.rstrip()}\n")
    return Exit.OK
