"""`delete`: deletes a run for good."""

import click

from replan.cli.completing import complete_run
from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option, keep_workspace_option


@click.command(epilog=examples("replan delete k7m2x9qa", "replan delete k7m2x9qa --force --json"))
@click.argument("run_id", metavar="RUN", shell_complete=complete_run)
@click.option("--force", is_flag=True, help="Also a run that has not ended.")
@keep_workspace_option
@json_option
@common
@click.pass_obj
def delete(invocation: Invocation, run_id: str, *, force: bool, keep_workspace: bool, as_json: bool) -> int:
    """Delete a RUN for good: its records, its messages, and texts that no other run has. Nothing brings it back.

    The folder that was made for a fork of an execution is removed too, unless it has changed since.
    """
    import trio

    return trio.run(_delete, invocation, run_id, force, keep_workspace, as_json)


async def _delete(invocation: Invocation, wanted: str, force: bool, keep_workspace: bool, as_json: bool) -> int:
    from actors.values.format import counted
    from replan.cli.folder_notices import tell_of_folders
    from replan.cli.home import opened
    from replan.cli.reading import run_named
    from replan.cli.terminal.console import notice, print_json
    from replan.runs.archiving import delete_run

    async with opened(invocation) as engine:
        run = await run_named(engine, wanted)
        done = await delete_run(engine, run, force=force, keep_workspace=keep_workspace)
    deleted = done.runs
    below = f" with {counted(deleted.runs - 1, 'run')} of its steps" if deleted.runs > 1 else ""
    notice(f"run {run} is deleted{below}")
    folders = tell_of_folders(done.folders)
    if as_json:
        counts = {"runs": deleted.runs, "texts": deleted.texts, "text_bytes": deleted.text_bytes}
        print_json({"run_id": run, **counts, "folders": folders})
    return Exit.OK
