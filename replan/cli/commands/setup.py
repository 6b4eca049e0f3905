"""The commands about the installation: `init`, which writes the first files, `doctor`, `completion` and `version`."""

import json
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from replan.cli.exits import Exit
from replan.cli.options import common, examples, json_option
from replan.setup.installation import NAME, data_root, program, release
from runtime.core.errors import UsageProblem

FILE_BYTES_MAX = 1024 * 1024
"""The largest number of bytes that `init` reads from one file of the user's project."""

_SCHEMAS = "{}/configs/schemas"
"""The path of the folder with the JSON Schemas. The braces stand for the folder that contains the shipped files."""


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """A program that can check the project, such as its tests."""

    role: str
    """The role of the program: `tests` or `lint`."""
    words: tuple[str, ...]
    """The command line of the program."""
    by: str


def find_programs(folder: Path) -> tuple[FoundProgram, ...]:
    """Return the programs that the files of a folder suggest, at most one for each role.

    A program of a programming language takes precedence over `make`.
    """
    first: dict[str, FoundProgram] = {}
    for found in _candidates(folder):
        first.setdefault(found.role, found)
    return tuple(first.values())


def _candidates(folder: Path) -> Iterator[FoundProgram]:
    project = _text(folder / "pyproject.toml")
    if any(folder.glob("tests/test_*.py")) or any(folder.glob("test_*.py")) or "pytest" in project:
        yield FoundProgram("tests", ("pytest", "-q"), "pyproject.toml" if "pytest" in project else "test_*.py")
    if "[tool.ruff" in project or (folder / "ruff.toml").is_file():
        yield FoundProgram("lint", ("ruff", "check"), "pyproject.toml" if "[tool.ruff" in project else "ruff.toml")
    for role, words in (("test", ("npm", "test")), ("lint", ("npm", "run", "lint"))):
        if role in _scripts(folder / "package.json"):
            yield FoundProgram("tests" if role == "test" else role, words, "package.json")
    for file, test, lint in (("Cargo.toml", "test", "clippy"), ("go.mod", "test ./...", "vet ./...")):
        if (folder / file).is_file():
            name = "cargo" if file == "Cargo.toml" else "go"
            yield FoundProgram("tests", (name, *test.split()), file)
            yield FoundProgram("lint", (name, *lint.split()), file)
    targets = re.findall(r"^(test|lint):", _text(folder / "Makefile"), re.MULTILINE)
    for target in targets:
        yield FoundProgram("tests" if target == "test" else target, ("make", target), "Makefile")


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(FILE_BYTES_MAX).decode(errors="replace")
    except OSError:
        return ""


def _scripts(path: Path) -> frozenset[str]:
    try:
        value = json.loads(_text(path) or "{}")
    except (ValueError, RecursionError):
        return frozenset()
    scripts = value.get("scripts") if isinstance(value, dict) else None
    return frozenset(scripts) if isinstance(scripts, dict) else frozenset()


def tools_text(programs: tuple[FoundProgram, ...]) -> str:
    """Return the text of a tools file in which `programs` check the steps, and a person does all other work."""
    rows = [
        f"# yaml-language-server: $schema={_SCHEMAS.format(data_root())}/tools.schema.json",
        "# The tools of plans, unless `replan do` or `replan execute` names another file.",
        "tools:",
    ]
    for found in programs:
        rows += [
            f"  {found.role}:  # chosen because of {found.by}",
            "    risk: none",
            f"    command: {json.dumps(found.words)}",
            "    environment: [PATH, HOME]",
            "    repeatable: true",
            "    timeout_seconds: 600",
            f"    broken_exit_codes: {[2, 3, 4, 5] if found.words[0] == 'pytest' else []}  # no verdict",
        ]
    rows += [
        "  work:  # instead of a person, name a command, a Python function or a model that writes a file",
        "    human: Do what the step says, in the workspace, and report.",
        "  look:",
        "    human: Check what the step says.",
        "generators:",
        *(f"  {name}: work" for name in ("coder", "investigator", "person", "tester", "writer")),
        "guards:",
        "  human: look",
        "  composite: look",
    ]
    roles = {found.role for found in programs}
    tests, lint = ("tests" if "tests" in roles else "look"), ("lint" if "lint" in roles else "look")
    rows += [f"  {name}: {tests}" for name in ("all_tests_pass", "dynamic_test")]
    rows += [f"  test_fails: {{tool: {tests}, expect: failure}}" if tests == "tests" else "  test_fails: look"]
    rows += [f"  {name}: {lint}" for name in ("syntax", "quality_gates", "arch_validation", "rules_valid")]
    rows += [f"  {name}: look" for name in ("architecture_tests_valid", "scenarios_valid")]
    return "\n".join(rows) + "\n"


def shipped_text(name: str) -> str:
    """Return the shipped text of `problem.md` or `config.yaml`.

    The text of `config.yaml` names the file's JSON Schema for editors.
    """
    text = (data_root() / "configs" / "starter" / name).read_text(encoding="utf-8")
    return text.replace("$schema=../schemas", f"$schema={_SCHEMAS.format(data_root())}", 1)


@click.command(epilog=examples("replan init", "replan init ../shop"), short_help="Write a first set of files.")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@json_option
@common
def init(*, folder: Path, as_json: bool) -> int:
    """Write problem.md into FOLDER (default: this one), and config.yaml and tools.yaml into the home.

    The tools file has the programs that the folder's files name: pytest, ruff, npm, cargo, go or make; people do the
    rest. `replan do` and `replan execute` use it by default. Existing files are kept.
    """
    from replan.cli.terminal.console import notice
    from replan.cli.terminal.plain import print_json
    from replan.setup.home_folder import prepare_home

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
        notice(f"{item.role}: {' '.join(item.words)} (chosen because of {item.by})")
    notice(
        f"next: describe a problem in {problem}; `{program()} run {problem}` plans it, "
        f"`{program()} do {problem}` also executes the plan"
    )
    return Exit.OK


@click.command(epilog=examples("replan doctor", "replan doctor -m gpt-5-mini --online"))
@click.option("--online", is_flag=True, help="Also try to reach the model's server; no model is called.")
@click.option("-m", "--model", help="The model to check; default: REPLAN_MODEL, else the config file's.")
@json_option
@common
def doctor(*, online: bool, model: str | None, as_json: bool) -> int:
    """Print what this installation uses, and what is wrong with it. Exit 1 if something is wrong."""
    from replan.cli.diagnosis import examine

    return examine(online=online, model=model, as_json=as_json)


_INSTALL = {
    "bash": "echo 'eval \"$(replan completion bash)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(replan completion zsh)\"' >> ~/.zshrc",
    "fish": "replan completion fish > ~/.config/fish/completions/replan.fish",
}
"""A mapping from a shell to the command line that installs the completion script in this shell."""


@click.command(
    epilog=examples(*_INSTALL.values()), short_help="Print the script that makes your shell complete commands."
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@common
def completion(*, shell: str, as_json: bool) -> int:
    """Print the script that makes SHELL complete commands, options, ids of runs and questions, workflows and searches.

    The examples install the script.
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
    """Print the version of this program; with --json, also the versions of Python and of the journal's format."""
    from replan.cli.terminal.plain import print_json, print_text

    if as_json:
        from runtime.journal.port import VERSION

        print_json({"version": release(), "python": platform.python_version(), "journal": VERSION})
    else:
        print_text(f"replan {release()}\n")
    return Exit.OK
