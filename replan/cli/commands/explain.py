"""The commands `explain`, which says what printed terms mean, and `help`."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import click

from replan.cli.command_table import COMMANDS, DAILY, plugged_in_rows, rows_below, write_sections
from replan.cli.exits import MEANING, Exit
from replan.cli.options import common, examples, json_option
from replan.setup.installation import program
from runtime.core.errors import UsageProblem

_EXPLAIN = examples(
    "replan explain all_pruned", "replan explain composite", "replan explain plan.cycle --json", "replan explain exit"
)


@click.command(epilog=_EXPLAIN)
@click.argument("term", nargs=-1)
@json_option
@common
def explain(*, term: tuple[str, ...], as_json: bool) -> int:
    """Explain a TERM that this program prints: an outcome, a guard, a code, a status, a word. Without a TERM, list all.

    The term `exit` lists all exit codes.
    """
    from actors.files.suggestions import describe_retired, near
    from actors.values.lines import indent_line, line
    from replan.cli.terminal.console import print_json, show

    wanted = " ".join(term)
    known = terms()
    if not wanted:
        shown = known
    elif wanted in ("exit", "exit codes"):
        shown = [term for term in known if term.kind == EXIT_KIND]
    else:
        shown = [term for term in known if term.name == wanted] or [
            term for term in known if _normalized(wanted) in (_normalized(term.name), f"{_normalized(term.name)}s")
        ]
    if not shown:
        hint = (
            describe_retired(wanted)
            or near(wanted, [term.name for term in known])
            or f"`{program()} explain` lists the terms"
        )
        raise UsageProblem(f"no term {wanted!r}", place="TERM", hint=hint)
    if as_json:
        print_json({"terms": [term._asdict() for term in shown]})
        return Exit.OK
    for item in shown:
        show([line(f"{item.name} ({item.kind})", "bold"), indent_line(item.means)])
    return Exit.OK


_SECTIONS = {
    "outcomes": "outcome of a run",
    "findings": "code of a finding",
    "tags": "reason tag of a finding",
    "levels": "how far back a failure sends the search",
    "faults": "fault of a model's server",
    "plan guards": "guard of a plan's step",
    "guards": "guard of a workflow's step",
    "words": "word",
}

EXIT_KIND = "exit code"
"""The value of `GlossaryTerm.kind` for terms that are exit codes."""
_ROW = "rule of the default policy"
"""The value of `GlossaryTerm.kind` for terms that are ids of rows in the default policy."""


class GlossaryTerm(NamedTuple):
    """A term that `explain` can explain."""

    name: str
    kind: str
    """The kind of term, such as `outcome of a run`."""
    means: str
    """The meaning of the term, in a sentence or two."""


def terms() -> list[GlossaryTerm]:
    """Return every term that can be explained, section by section."""
    import yaml

    from replan.setup.installation import data_root

    configs = data_root() / "configs"
    every_term: list[GlossaryTerm] = []
    for name in ("meanings.yaml", "terms.yaml"):
        sections: Mapping[str, Any] = yaml.safe_load((configs / name).read_text(encoding="utf-8"))
        for section, entries in sections.items():
            if section in _SECTIONS:
                every_term += _terms(_SECTIONS[section], entries)
    policy = yaml.safe_load((configs / "policies" / "default.yaml").read_text(encoding="utf-8"))
    return [
        *every_term,
        *(
            GlossaryTerm(f"exit {int(code)}", EXIT_KIND, f"{text[0].upper()}{text[1:]}.")
            for code, text in MEANING.items()
        ),
        *(GlossaryTerm(row["id"], _ROW, f"{row['why']} So: {row['level']}.") for row in policy["rows"]),
    ]


def _terms(kind: str, entries: Mapping[str, Any]) -> Iterator[GlossaryTerm]:
    for name, entry in entries.items():
        means = f"{entry['means']} From: {entry['by']}." if isinstance(entry, Mapping) else str(entry)
        yield GlossaryTerm(str(name), kind, " ".join(means.replace("`", "").split()))


def _normalized(name: str) -> str:
    return name.lower().replace("_", " ").replace("-", " ")


_HELP = examples("replan help", "replan help more", "replan help home delete")


@click.command("help", epilog=_HELP)
@click.argument("words", metavar="[more|COMMAND...]", nargs=-1)
@json_option
@common
@click.pass_context
def help_command(ctx: click.Context, *, words: tuple[str, ...], as_json: bool) -> int:
    """Show the help of the program or of a COMMAND; `more` lists the commands that the first help leaves out."""
    from replan.cli.app import app
    from replan.cli.terminal.plain import print_json

    if as_json:
        rows = [
            {"name": row.name, "section": row.section or None, "help": row.help, "daily": row.section in DAILY}
            for row in (*COMMANDS.values(), *plugged_in_rows().values())
        ]
        print_json({"commands": rows})
    elif words == ("more",):
        formatter = ctx.make_formatter()
        table = [row for row in (*rows_below().values(), *plugged_in_rows().values()) if row.section not in DAILY]
        write_sections(formatter, table)
        formatter.write(
            f"\n`{program()} help COMMAND` explains a command; `{program()} explain exit` lists the exit codes.\n"
        )
        click.echo(formatter.getvalue().strip("\n"))
    else:
        with app.make_context("replan", [*words, "--help"]) as context:  # It prints the help, and exits.
            app.invoke(context)
    return Exit.OK
