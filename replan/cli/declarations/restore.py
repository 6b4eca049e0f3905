"""The options, arguments and help of `restore`."""

import click

from replan.cli.options import common, examples, json_option


@click.command(epilog=examples("replan restore archive/k7m2x9qa.replan.gz", "replan restore archive/*.replan.gz"))
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@json_option
@common
def restore(*, files: tuple[str, ...], as_json: bool) -> int:
    """Bring the runs in FILEs that `replan archive` has written back into the journal, as they were. The files stay.

    What the runs have spent is not counted again. Exit 0: all are in the journal; 8: another run has the id of one.
    """
    from replan.cli.commands.restore import restore_files

    return restore_files(files, as_json=as_json)
