"""The table of all commands, the click groups made from it, and the hints for a wrong command line."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

import click

from runtime.core.entry_points import PluginGroup

DAILY = ("Plan and execute", "Watch and answer")
"""The sections of the command table that `replan --help` shows. `replan help more` shows the other sections."""


class CommandRow(NamedTuple):
    """A row of the table: one command."""

    name: str
    """The words after `replan`, such as `runs` or `home delete`."""
    section: str
    """The heading above the command in the help; empty for a command that only its group's help lists."""
    help: str
    function: str
    """The click command, as `MODULE:FUNCTION`. The module is imported when the command is used."""


_HERE = "replan.cli.commands"
_ROWS = (
    ("init", DAILY[0], "Write settings, a tools file and a first problem.", "setup:init"),
    ("run", DAILY[0], "Plan a problem.", "run:run"),
    ("do", DAILY[0], "Plan a problem, and execute the plan.", "do:do"),
    ("execute", DAILY[0], "Execute a plan with your tools.", "execute:execute"),
    ("resume", DAILY[0], "Continue a run.", "control:resume"),
    ("check", DAILY[0], "Check plans without a model.", "check:check"),
    ("export", DAILY[0], "Write the plan of a run to a file.", "show:export"),
    ("runs", DAILY[1], "List the runs.", "show:runs"),
    ("show", DAILY[1], "Show the state and the result of a run.", "show:show"),
    ("log", DAILY[1], "Print the records of a run.", "show:log"),
    ("questions", DAILY[1], "List the open questions.", "answer:questions"),
    ("answer", DAILY[1], "Answer a question.", "answer:answer"),
    ("tell", DAILY[1], "Send a note or a requirement to a run.", "answer:tell"),
    ("cancel", DAILY[1], "Cancel a run.", "control:cancel"),
    ("fork", DAILY[1], "Start a new run from the middle of another run.", "control:fork"),
    ("edit", "Also for runs", "Edit the plan of a run in your editor.", "edit:edit"),
    ("undo", "Also for runs", "Undo what an execution did.", "control:undo"),
    ("host", "Operate", "Drive all runs of the home (the folder with runs and settings).", "host:host"),
    ("home", "Operate", "Maintain the home and its journal: verify, copy, delete, prune.", "home:home"),
    ("home files", "", "List the files of the home.", "home:files"),
    ("home verify", "", "Check the stored state of runs against their records.", "home:verify"),
    ("home copy", "", "Copy runs to another journal; --delete deletes them here.", "home:copy"),
    ("home upgrade", "", "Create the journal's tables, or upgrade them to this release.", "home:upgrade"),
    ("home delete", "", "Delete a run for good.", "home:delete"),
    ("home prune", "", "Delete old runs that can never continue.", "home:prune"),
    ("doctor", "Operate", "Show what this installation uses, and what is wrong with it.", "setup:doctor"),
    ("workflow", "Develop", "Show workflows and what they can cost.", "workflow:workflow"),
    ("policy", "Develop", "Show and check policies, which react to failures.", "workflow:policy"),
    ("explain", "Develop", "Explain a term that this program prints; `exit` for exit codes.", "explain:explain"),
    ("completion", "Develop", "Print the script that makes your shell complete commands.", "setup:completion"),
    ("version", "Develop", "Print the version.", "setup:version"),
    ("help", "Develop", "Show the help; `more` shows the other commands.", "explain:help_command"),
)
COMMANDS = {name: CommandRow(name, section, text, f"{_HERE}.{function}") for name, section, text, function in _ROWS}
"""A mapping from the name of each command to its row. It contains the commands of the group `home`. The module of any
other group, such as `workflow`, defines the group's commands.
"""


def rows_below(noun: str = "") -> dict[str, CommandRow]:
    """Return the rows of a group's commands, by the last word of their names.

    Without a noun, return the commands that belong to no group.
    """
    return {name.rpartition(" ")[2]: row for name, row in COMMANDS.items() if name.rpartition(" ")[0] == noun}


COMMAND_PLUGINS = PluginGroup(
    "replan.commands",
    "a click command",
    lambda value: isinstance(value, click.Command),
    {name: row.function for name, row in rows_below().items()},
)
"""The commands of installed distributions: `replan NAME` runs the click command that the entry point names."""


def plugged_in_rows() -> dict[str, CommandRow]:
    """Load the commands of installed distributions, and return their rows.

    If a command cannot be loaded, its row has the error as its text.
    """
    rows = {}
    for name, found in COMMAND_PLUGINS.installed.items():
        text, section = COMMAND_PLUGINS.problem(found), f"From {found.distribution}"
        if not text:
            command: click.Command = COMMAND_PLUGINS.load(found)
            text, section = command.get_short_help_str(100), getattr(command.callback, "heading", section)
        rows[name] = CommandRow(name, section, text, found.points[0].value)
    return rows


class CommandGroup(click.Group):
    """A group of commands from the table. Each command is imported when it is used."""

    def rows(self) -> dict[str, CommandRow]:
        """Return the rows of the commands in this group, by the last word of their names."""
        return rows_below()

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        """Return the names in the order of the rows."""
        return list(self.rows())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module of a command and return the command; None if no row has this name."""
        row = self.rows().get(cmd_name)
        if row is None:
            return None
        command: click.Command = resolve_name(row.function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without importing them."""
        _write_commands(formatter, "Commands", self.rows())


class HomeGroup(CommandGroup):
    """The commands below `replan home`."""

    def rows(self) -> dict[str, CommandRow]:
        """Return the rows below `home`."""
        return rows_below("home")


def _write_commands(formatter: click.HelpFormatter, heading: str, rows: Mapping[str, CommandRow]) -> None:
    width = max(len(name) for name in COMMANDS if " " not in name)
    with formatter.section(heading):
        formatter.write_dl([(f"{name:<{width}}", row.help) for name, row in rows.items()])


def write_sections(formatter: click.HelpFormatter, rows: Iterable[CommandRow]) -> None:
    """Write a line for each command, under the headings of their sections."""
    sections: dict[str, dict[str, CommandRow]] = {}
    for row in rows:
        sections.setdefault(row.section, {})[row.name] = row
    for heading, found in sections.items():
        _write_commands(formatter, heading, found)


_TEXT_SUFFIXES = (".md", ".txt", ".rst", ".markdown")
"""An argument with one of these suffixes counts as the file of a problem, even if the file does not exist."""
_COMMAND_OPTIONS = frozenset({"--json", "--jsonl", "--no-input", "-m", "--model", "-w", "--workflow", "--last"})
"""Options of commands that users often write before the command's name."""
OTHER_WORDS = {
    "plan": "run",
    "solve": "run",
    "start": "run",
    "list": "runs",
    "ls": "runs",
    "ps": "runs",
    "status": "runs",
    "continue": "resume",
    "retry": "resume",
    "stop": "cancel",
    "kill": "cancel",
    "rm": "home delete",
    "remove": "home delete",
    "validate": "check",
    "verify": "home verify",
    "web": "serve",
    "ui": "serve",
}
"""A mapping from a word that other tools use as a command to the command of Replan. Click does not suggest our command
for such a word, because the two differ too much.
"""
ELSEWHERE = {
    ("execute", "--last"): "name the run; `{program} runs` lists all runs",
    ("do", "--last"): "`{program} do` makes a new plan; `{program} execute RUN` executes the plan of a run",
    ("delete", "--last"): "name the run; `{program} runs` lists all runs",
    ("serve", "--host"): "the server listens only on this machine; put a proxy in front of it for other machines",
    ("run", "-o"): "`{program} export --last -o FILE` writes the plan afterwards",
    ("run", "--output"): "`{program} export --last -o FILE` writes the plan afterwards",
}
"""A mapping from a command and an option that this command does not have to advice for the user."""


def hint_for_problem(arguments: list[str], program: str) -> str:
    """If the user wrote a problem in place of a command, return the correct command line; empty for other words."""
    first = arguments[0]
    if len(first.split()) > 1:
        return f"`echo {shlex.quote(first[:40])} | {program} run -`"
    if first == "-" or first.lower().endswith(_TEXT_SUFFIXES) or _is_file(first):
        return f"`{program} run {shlex.join(arguments)}`"
    return ""


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except ValueError:  # A null character.
        return False


def command_for(word: str, program: str) -> str:
    """Return the command for a word that other tools use; empty for any other word."""
    command = OTHER_WORDS.get(word.lower())
    return f"`{program} {command}`" if command else ""


def misplaced_option(option: str, command: str) -> str:
    """Return a message about an option that was written before the command; empty if no command has the option."""
    if option not in _COMMAND_OPTIONS:
        return ""
    value = {"-m": " NAME", "--model": " NAME", "-w": " search", "--workflow": " search"}.get(option, "")
    return f"{option} belongs after a command, as in `{command} COMMAND {option}{value}`"
