"""The commands about the program itself: `init`, `doctor`, `completion` and `version`."""

import platform
from pathlib import Path

import click

from replan.cli.exits import Exit
from replan.cli.options import common, examples, json_option
from replan.setup.installation import NAME, program, release
from runtime.core.errors import UsageProblem


@click.command(epilog=examples("replan init", "replan init ../shop"), short_help="Write a first set of files.")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@json_option
@common
def init(*, folder: Path, as_json: bool) -> int:
    """Write problem.md into FOLDER (default: this one), and config.yaml and tools.yaml into the home.

    The tools file has the programs that the folder's files name: pytest, ruff, npm, cargo, go or make; people do the
    rest. `replan do` and `replan execute` use it if they name no other. Existing files are kept.
    """
    from replan.cli.terminal.console import notice
    from replan.cli.terminal.plain import print_json
    from replan.setup.home_folder import prepare_home
    from replan.setup.starter import find_programs, shipped_text, tools_text

    if not folder.is_dir():
        raise UsageProblem("there is no such folder", place=str(folder), hint="name the folder of a project")
    programs = find_programs(folder)
    home = prepare_home()
    tools = home.folder / "tools.yaml"  # Not in the workspace: what tools may write must not say which tools there are.
    problem = folder / "problem.md"
    texts = {problem: shipped_text("problem.md"), tools: tools_text(programs), home.config: shipped_text("config.yaml")}
    written: list[str] = []
    kept: list[str] = []
    for path, text in texts.items():
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            kept.append(str(path))
            notice(f"kept {path}")
        except OSError as error:
            cause = f"cannot be written: {(error.strerror or str(error)).lower()}"
            raise UsageProblem(cause, place=str(path), hint="name a folder that you may write in") from None
        else:
            written.append(str(path))
            notice(f"wrote {path}")
    if as_json:
        named = [{"role": item.role, "command": list(item.words), "by": item.by} for item in programs]
        print_json({"written": written, "kept": kept, "programs": named})
    for item in programs:
        notice(f"{item.role}: {' '.join(item.words)} (by {item.by})")
    notice(
        f"next: describe a problem in {problem}; `{program()} run {problem}` plans it, `{program()} do` also executes"
    )
    return Exit.OK


@click.command(epilog=examples("replan doctor", "replan doctor -m gpt-5-mini --online"))
@click.option("--online", is_flag=True, help="Also try to reach the model's server; no model is called.")
@click.option("-m", "--model", help="The model to look at; default: REPLAN_MODEL, else the config file's.")
@json_option
@common
def doctor(*, online: bool, model: str | None, as_json: bool) -> int:
    """Say what this installation uses, where it comes from, and what is wrong with it. Exit 0 or 1."""
    from replan.cli.diagnosis import examine

    return examine(online=online, model=model, as_json=as_json)


_INSTALL = {
    "bash": "echo 'eval \"$(replan completion bash)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(replan completion zsh)\"' >> ~/.zshrc",
    "fish": "replan completion fish > ~/.config/fish/completions/replan.fish",
}
"""The line that installs the completion script, for each shell."""


@click.command(
    epilog=examples(*_INSTALL.values()), short_help="Print what makes your shell complete commands, ids and names."
)
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


@click.command(epilog=examples("replan version", "replan version --json | jq -r .python"))
@json_option
@common
def version(*, as_json: bool) -> int:
    """Print the version of this program; with --json also those of Python and of the journal's format."""
    from replan.cli.terminal.plain import print_json, print_text

    if as_json:
        from runtime.journal.port import VERSION

        print_json({"version": release(), "python": platform.python_version(), "journal": VERSION})
    else:
        print_text(f"replan {release()}\n")
    return Exit.OK
