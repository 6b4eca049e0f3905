"""`restore`: brings archived runs back into the journal."""

from pathlib import Path

import click

from replan.cli.exits import Exit
from replan.cli.options import common, examples, json_option
from runtime.core.errors import RunExists


@click.command(epilog=examples("replan restore archive/k7m2x9qa.replan.gz", "replan restore archive/*.replan.gz"))
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@json_option
@common
def restore(*, files: tuple[str, ...], as_json: bool) -> int:
    """Bring the runs in FILEs that `replan archive` has written back into the journal, as they were. The files stay.

    What the runs have spent is not counted again. Exit 0: all are in the journal; 8: another run has the id of one.
    """
    from actors.values.format import counted
    from replan.cli.terminal.console import notice, print_json
    from replan.cli.terminal.plain import print_text
    from replan.setup.database import journal_url
    from replan.setup.home_folder import USE_ANOTHER_HOME
    from replan.setup.kinds import Kinds
    from runtime.journal.archive.reading import ArchiveReader
    from runtime.open_offline import open_raw

    codecs, rows = Kinds().codecs, list[dict[str, str | bool | None]]()
    archives = [(file, ArchiveReader(Path(file), codecs)) for file in files]
    with open_raw(journal_url(), make=True, use_another=USE_ANOTHER_HOME) as journal:
        for file, archive in archives:
            for head in reversed(archive.contents.runs):
                (result,) = journal.add([(archive.copy(head.run), None)])
                new, problem = result is True, None if isinstance(result, bool) else str(result)
                if problem is not None:
                    notice(f"{file}: {problem}{', and is another run' if isinstance(result, RunExists) else ''}")
                rows.append({"run_id": head.run, "file": file, "new": new, "problem": problem})
    if as_json:
        print_json({"runs": rows})
    else:
        print_text("".join(f"{row['run_id']}\n" for row in rows if row["new"]))
    added, failed = sum(bool(row["new"]) for row in rows), sum(row["problem"] is not None for row in rows)
    notice(f"{counted(added, 'run')} restored, {len(rows) - added - failed} there already, {failed} not restored")
    return Exit.NOT_FOUND if failed else Exit.OK
