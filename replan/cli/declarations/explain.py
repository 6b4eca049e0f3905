"""The options, arguments and help of `explain`."""

import click

from replan.cli.options import common, examples, json_option

_EXPLAIN = examples("replan explain all_pruned", "replan explain composite", "replan explain plan.cycle --json")


@click.command(epilog=_EXPLAIN)
@click.argument("term", nargs=-1)
@json_option
@common
def explain(*, term: tuple[str, ...], as_json: bool) -> int:
    """Explain a TERM that this program prints: an outcome, a guard, a code, a status, a word. Without one, list all."""
    from replan.cli.commands.explain import explain_term

    return explain_term(" ".join(term), as_json=as_json)
