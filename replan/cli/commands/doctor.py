"""`doctor`: says what this installation uses, and what is wrong with it."""

import click

from replan.cli.options import common, examples, json_option


@click.command(epilog=examples("replan doctor", "replan doctor -m gpt-5-mini --online", "replan doctor --verify"))
@click.option("--online", is_flag=True, help="Also try to reach the model's server; no model is called.")
@click.option("-m", "--model", help="The model to look at; default: REPLAN_MODEL, else rules.")
@click.option("--verify", is_flag=True, help="Verify the journal instead; exit 9 if something in it is wrong.")
@json_option
@common
def doctor(*, online: bool, model: str | None, verify: bool, as_json: bool) -> int:
    """Say what this installation uses, where it comes from, and what is wrong with it. Exit 0 or 1.

    With --verify, compute again what follows from the records of all runs, and compare; change nothing. Exit 0 or 9.
    """
    if verify:
        from replan.cli.verify import verify_journal

        return verify_journal(as_json=as_json)
    from replan.cli.diagnosis import examine

    return examine(online=online, model=model, as_json=as_json)
