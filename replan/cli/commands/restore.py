"""`restore`: brings archived runs back into the journal."""

from collections.abc import Sequence
from pathlib import Path

from actors.values.format import counted
from replan.cli.exits import Exit
from replan.cli.terminal.console import notice, print_json
from replan.cli.terminal.plain import print_text
from replan.setup.database import journal_url
from replan.setup.home_folder import USE_ANOTHER_HOME
from replan.setup.kinds import Kinds
from runtime.core.errors import RunExists
from runtime.journal.archive.reading import ArchiveReader
from runtime.open_offline import open_raw


def restore_files(files: Sequence[str], *, as_json: bool) -> int:
    """Add the runs in files to the journal, and print the ids of those that are new there. Return the exit code.

    The files are verified first. The runs of steps come before the run that a person has started, so that this one is
    complete when it is there.
    """
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
