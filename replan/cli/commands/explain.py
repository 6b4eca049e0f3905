"""`explain`: says what a term means that the program prints."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import click

from replan.cli.exits import Exit
from replan.cli.options import common, examples, json_option
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem

_EXPLAIN = examples("replan explain all_pruned", "replan explain composite", "replan explain plan.cycle --json")


@click.command(epilog=_EXPLAIN)
@click.argument("term", nargs=-1)
@json_option
@common
def explain(*, term: tuple[str, ...], as_json: bool) -> int:
    """Explain a TERM that this program prints: an outcome, a guard, a code, a status, a word. Without one, list all."""
    from actors.files.retired import retired
    from actors.files.suggestions import near
    from actors.values.lines import indented, line
    from replan.cli.terminal.console import print_json, show

    wanted = " ".join(term)
    known = terms()
    if not wanted:
        shown = known
    else:
        shown = [term for term in known if term.name == wanted] or [
            term for term in known if _same(term.name) == _same(wanted)
        ]
    if not shown:
        hint = (
            retired(wanted) or near(wanted, [term.name for term in known]) or f"`{program()} explain` lists the terms"
        )
        raise UsageProblem(f"no term {wanted!r}", place="TERM", hint=hint)
    if as_json:
        print_json({"terms": [term._asdict() for term in shown]})
        return Exit.OK
    for each in shown:
        show([line(f"{each.name} ({each.kind})", "bold"), indented(each.means)])
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

_ROW = "rule of the default policy"
"""What the terms of a section are."""


class GlossaryTerm(NamedTuple):
    """One term."""

    name: str
    """The term, as it is printed."""
    kind: str
    """What sort of term it is, such as `outcome of a run`."""
    means: str
    """Its meaning, in a sentence or two."""


def terms() -> list[GlossaryTerm]:
    """Return every term that can be explained, section by section."""
    import yaml

    from replan.setup.data_files import data_root

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
        *(GlossaryTerm(row["id"], _ROW, f"{row['why']} So: {row['level']}.") for row in policy["rows"]),
    ]


def _terms(kind: str, entries: Mapping[str, Any]) -> Iterator[GlossaryTerm]:
    for name, entry in entries.items():
        means = f"{entry['means']} From: {entry['by']}." if isinstance(entry, Mapping) else str(entry)
        yield GlossaryTerm(str(name), kind, " ".join(means.replace("`", "").split()))


def _same(name: str) -> str:
    return name.lower().replace("_", " ").replace("-", " ")
