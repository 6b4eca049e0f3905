"""`init`: writes settings, a tools file for the project at hand, and a first problem; nothing is overwritten."""

from pathlib import Path

import click

from replan.cli.exits import Exit
from replan.cli.options import common, examples, json_option
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem


@click.command(epilog=examples("replan init", "replan init ../shop"), short_help="Write a first set of files.")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@json_option
@common
def init(*, folder: Path, as_json: bool) -> int:
    """Write problem.md into FOLDER (default: this one), and config.yaml and tools.yaml into the home.

    The tools file has the programs that the folder's files name: pytest, ruff, npm, cargo, go or make; people do the
    rest. `replan do` and `replan execute` use it where they name no other. What is there already is kept.
    """
    from replan.cli.terminal.console import notice
    from replan.cli.terminal.plain import print_json
    from replan.setup.home_folder import prepare_home
    from replan.setup.starter import found_programs, shipped_text, tools_text

    if not folder.is_dir():
        raise UsageProblem("there is no such folder", place=str(folder), hint="name the folder of a project")
    programs = found_programs(folder)
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
        named = [{"role": each.role, "command": list(each.words), "by": each.by} for each in programs]
        print_json({"written": written, "kept": kept, "programs": named})
    for each in programs:
        notice(f"{each.role}: {' '.join(each.words)} (by {each.by})")
    notice(
        f"next: describe a problem in {problem}; `{program()} run {problem}` plans it, `{program()} do` also executes"
    )
    return Exit.OK
