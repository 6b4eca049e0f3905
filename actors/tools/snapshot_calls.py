"""The built-in tool `workspace:snapshot`: a commit where the workspace is a git repository, else a listing."""

from collections.abc import Mapping
from typing import Any

from actors.tools.listing import PREFIX, TooManyFiles, changes, find_listing, keep, take_listing
from actors.tools.refusals import system_refusal
from actors.tools.repository import GitFailed, find_repository
from actors.tools.snapshot_texts import WorkspaceSnapshot, cut_paths
from actors.tools.workspace import Workspace


def take_snapshot(workspace: Workspace, arguments: Mapping[str, Any]) -> str:
    """Return the output of `workspace:snapshot`, a `WorkspaceSnapshot` as JSON. Raises `CallRefused`.

    Where git fails, a listing takes the place of the commit, and the notice says why. A listing is compared only with a
    listing, and a commit with a commit.
    """
    name, since = str(arguments["name"]), str(arguments["since"])
    try:
        return _snapshot(workspace, name, since).model_dump_json(exclude_defaults=True)
    except OSError as error:
        raise system_refusal(error, "the workspace cannot be recorded") from None


def _snapshot(workspace: Workspace, name: str, since: str) -> WorkspaceSnapshot:
    notice = ""
    if not since.startswith(PREFIX):
        try:
            if snapshot := _commit(workspace, name, since):
                return snapshot
        except GitFailed as error:
            notice = f"no commit was made: {error}"
    return _list_snapshot(workspace, since, notice)


def _commit(workspace: Workspace, name: str, since: str) -> WorkspaceSnapshot | None:
    repository = find_repository(
        workspace.folder, workspace.home, workspace.lock.inherited, run=workspace.run, first=not since
    )
    if repository is None:
        return None
    commit, ref, left = repository.commit(workspace.run, name, since)
    left_out = cut_paths(left)[0]
    if not since:
        return WorkspaceSnapshot(id=commit, ref=ref, left_out=left_out)
    changed, more = cut_paths(repository.changed(since, commit))
    return WorkspaceSnapshot(id=commit, ref=ref, changed=changed, more=more, left_out=left_out)


def _list_snapshot(workspace: Workspace, since: str, notice: str) -> WorkspaceSnapshot:
    before = find_listing(since, workspace.folder, workspace.home)
    if since and before is None:
        notice = notice or "the snapshot to compare with is not there any more"
    try:
        listing = take_listing(workspace.handle, before or {})
    except TooManyFiles as error:
        return WorkspaceSnapshot(id="", notice=f"changes are not known: {error}")
    found = keep(listing, workspace.folder, workspace.home)
    if before is None:
        return WorkspaceSnapshot(id=found, notice=notice)
    changed, more = cut_paths(changes(before, listing))
    return WorkspaceSnapshot(id=found, changed=changed, more=more, notice=notice)
