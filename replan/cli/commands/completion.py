"""`completion`: prints the script by which a shell completes what is typed."""

from click.shell_completion import get_completion_class

from replan.cli.exits import Exit
from replan.cli.terminal.plain import print_json, print_text
from replan.setup.command_name import NAME

_INSTALL = {
    "bash": "echo 'eval \"$(replan completion bash)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(replan completion zsh)\"' >> ~/.zshrc",
    "fish": "replan completion fish > ~/.config/fish/completions/replan.fish",
}
"""The line that installs the script of each shell."""


def print_completion(shell: str, *, as_json: bool) -> int:
    """Print the script of a shell, after a comment that says how it is installed. Return the exit code."""
    from replan.cli.app import app

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(app, {}, NAME, f"_{NAME.upper()}_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "install": _INSTALL[shell], "script": script})
        return Exit.OK
    print_text(f"# Install it with: {_INSTALL[shell]}\n{script.rstrip()}\n")
    return Exit.OK
