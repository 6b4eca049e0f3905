"""Calls of coding agents. Each call starts a program in its own worktree, with the prompt as the standard input.

After a successful call, the changes are recorded (`worktree:diff`), checked and merged (`workspace:merge`). After any
other call, the worktree is removed, and the changes are kept as a commit.
"""

import sys
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import trio

from actors.handlers.tools import PreparedCall, Tool, ToolResult
from actors.run.tools import ToolCost, ToolOutcome
from actors.tools import write_confinement
from actors.tools.agent_work import GIT_SECONDS, AgentReport, earlier_attempts, read_report
from actors.tools.binding import environment_of
from actors.tools.command_calls import CallRefused, claim_workspace, refuse_call, system_refusal, without_secrets
from actors.tools.mcp_calls import open_call
from actors.tools.programs import ProgramMissing, find_server
from actors.tools.repository import GitFailed, TimeLimit, find_noted_repository
from actors.tools.snapshot_texts import ref_of
from actors.tools.specs import AgentSpec
from actors.tools.workspace import Workspace
from actors.tools.worktrees import (
    commit_worktree,
    left_worktrees,
    make_worktree,
    refuse_git_errors,
    remove_worktree,
    remove_worktrees,
    temporary_folder,
    worktree_folder,
)
from actors.values.format import money
from runtime.core.ledger import MICRO
from runtime.logs import log
from runtime.logs.redact import Redactor, secrets_in
from runtime.process.group import CHUNK_BYTES, CommandNotStarted, GatedProcess, start_gated

REPORT_BYTES_MAX = 16 * 1024 * 1024
"""The largest number of bytes that are kept of an agent's standard output. If there are more, the last bytes are kept,
because they contain the result.
"""
ERROR_BYTES_MAX = 64 * 1024
"""The largest number of bytes that are kept of an agent's standard error. If there are more, the last bytes are
kept."""
DRAIN_SECONDS = 5.0
"""The longest time, in seconds, for which an agent's output is read after the agent has ended. Without a limit, a
process that the agent started could keep the pipes open.
"""


def agent(spec: AgentSpec, workspace: Workspace, outside: Mapping[str, str]) -> Tool:
    """Return a coding agent as a tool.

    `outside` is the driver's environment. The tools file lists the variables that the agent sees. A call succeeds with
    exit code 0, unless the agent reports an error or a cost above its limit. A missing program or worktree is a
    permanent failure. If a signal ends the call, the call is broken. In all other cases, the call is a failure.
    """

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        name, base = str(arguments["name"]), str(arguments["base"])
        folder = worktree_folder(workspace.home, workspace.run, name)
        call: PreparedCall | None = None
        try:
            async with AsyncExitStack() as stack:
                try:
                    await claim_workspace(workspace)
                    program = "" if spec.mcp is not None else find_server(spec, outside)
                    with refuse_git_errors("the worktree cannot be made"):
                        for earlier in earlier_attempts(name):  # A person has reported that these attempts failed.
                            await trio.to_thread.run_sync(_discard_worktree, workspace, earlier, base, True)
                        await trio.to_thread.run_sync(make_worktree, workspace, base, folder)
                    prompt, before, files = (
                        str(arguments["prompt"]),
                        _confinement_words(spec, folder),
                        workspace.lock.inherited,
                    )
                    added = {"TMPDIR": str(temporary_folder(folder))}
                    if spec.mcp is not None:
                        sent = {"prompt": prompt}
                        server = open_call(spec.mcp, sent, outside, folder, files, confined=before, added=added)
                        call = _ServerCall(await stack.enter_async_context(server))
                    else:
                        gated = start_gated(
                            [*before, program, *spec.argv[1:]],
                            folder=folder,
                            environment={**added, **environment_of(spec.environment, outside)},
                            inherited=files,
                            talks=True,
                        )
                        redactor = Redactor(secrets_in(outside))
                        call = _AgentCall(spec, prompt, redactor, await stack.enter_async_context(gated))
                except (CallRefused, ProgramMissing, OSError) as error:
                    call = refuse_call(error, "the agent cannot be started")
                yield call
        finally:
            if not (isinstance(call, _AgentCall | _ServerCall) and call.succeeded):
                begun = isinstance(call, _AgentCall | _ServerCall) and call.begun
                with trio.CancelScope(shield=True):
                    await trio.to_thread.run_sync(_discard_worktree, workspace, name, base, begun)

    return Tool(spec.name, prepare)


def _discard_worktree(workspace: Workspace, name: str, base: str, keep: bool) -> None:
    """Remove the worktree of an attempt. With `keep`, first record the changes in the worktree as a commit.

    The parent of that commit is the base that was recorded for the attempt, or else `base`. If the commit cannot be
    made, a warning is logged with the reason.
    """
    folder = worktree_folder(workspace.home, workspace.run, name)
    if keep and folder.is_dir():
        try:
            repository = find_noted_repository(workspace.folder, workspace.home, TimeLimit(GIT_SECONDS))
            base = repository.commit_at(workspace.run, f"{name}.base") or base
            commit_worktree(repository, folder, base, workspace.run, f"{name}.unfinished")
        except (GitFailed, OSError) as error:
            log.get_logger("tool").warning("agent.work_not_kept", run_id=workspace.run, attempt=name, reason=str(error))
    with suppress(OSError):  # It is removed at the step's next call, or with the run.
        remove_worktree(folder)


def clear_worktrees(workspace: Workspace, at_work: Collection[str]) -> None:
    """Remove the worktrees that killed drivers of a run have left, and keep the changes in them as commits.

    `at_work` has the names of attempts that have not ended. The worktrees of these attempts are kept. If a commit
    cannot be made or a worktree cannot be removed, a warning is logged with the reason.
    """
    logger = log.get_logger("tool")
    try:
        folders = [
            worktree for worktree in left_worktrees(workspace.home, workspace.run, but=at_work) if worktree.is_dir()
        ]
        for folder in folders:
            try:
                _keep_changes(workspace, folder)
            except (GitFailed, OSError) as error:
                logger.warning("agent.work_not_kept", run_id=workspace.run, attempt=folder.name, reason=str(error))
        remove_worktrees(workspace.home, workspace.run, kept=at_work)
    except OSError as error:
        logger.warning("agent.worktrees_left", run_id=workspace.run, reason=str(error))


def _keep_changes(workspace: Workspace, folder: Path) -> None:
    """Record the changes in a worktree as a commit, if a base was recorded for the worktree.

    Raises `GitFailed`, `OSError`.
    """
    repository = find_noted_repository(workspace.folder, workspace.home, TimeLimit(GIT_SECONDS))
    # The names of the folder and of the ref of its base each end with a hash of the full name.
    refs = ref_of(workspace.run, "all").rpartition("/")[0]
    base = f"{refs}/{folder.name.rpartition('-')[0]}-base-*"
    for commit in repository.theirs.text("for-each-ref", "--format=%(objectname)", base).split()[:1]:
        commit_worktree(repository, folder, commit, workspace.run, f"{folder.name}.unfinished")


@dataclass(slots=True)
class _AgentCall(PreparedCall):
    """A call of a coding agent that is a program. The process is started, but waits until the call is recorded."""

    spec: AgentSpec
    prompt: str
    redactor: Redactor
    gated: GatedProcess
    begun: bool = False
    succeeded: bool = False
    """Whether the call has succeeded. If so, the worktree is kept until the work is recorded."""

    @property
    def process(self) -> str:
        return self.gated.name

    async def run(self) -> ToolResult:
        process = self.gated.begin()
        self.begun = True
        output, errors = _Tail(REPORT_BYTES_MAX), _Tail(ERROR_BYTES_MAX)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_send_all, process.stdin, self.prompt.encode(errors="replace"))
                nursery.start_soon(output.read, process.stdout)
                nursery.start_soon(errors.read, process.stderr)
                code = await process.wait()
                with trio.move_on_after(DRAIN_SECONDS):
                    await output.ended.wait()
                    await errors.ended.wait()
                nursery.cancel_scope.cancel()
        finally:
            await self.gated.end()
        try:
            self.gated.check_started()
        except CommandNotStarted as error:
            return system_refusal(error, "the agent cannot be started").result
        result = await trio.to_thread.run_sync(self._result, code, output, errors)  # The outputs may be large.
        self.succeeded = result.outcome is ToolOutcome.SUCCEEDED
        return result

    def _result(self, code: int, output: "_Tail", errors: "_Tail") -> ToolResult:
        result = result_of(self.spec, code, read_report(self.spec.report, output.text), errors.text)
        return without_secrets(result, self.redactor, self.spec.output_bytes)


@dataclass(slots=True)
class _ServerCall(PreparedCall):
    """A call of an agent that is a tool of an MCP server. The cost of the call is unknown."""

    call: PreparedCall
    begun: bool = False
    succeeded: bool = False

    @property
    def process(self) -> str:
        return self.call.process

    @property
    def is_made(self) -> bool:
        return self.call.is_made

    async def run(self) -> ToolResult:
        self.begun = True
        result = await self.call.run()
        self.succeeded = result.outcome is ToolOutcome.SUCCEEDED
        return replace(result, cost=ToolCost())


def _confinement_words(spec: AgentSpec, folder: Path) -> list[str]:
    if spec.writable is None:
        return []
    paths = [str(folder), str(temporary_folder(folder)), *spec.writable]
    return [sys.executable, "-I", "-S", write_confinement.__file__, str(len(paths)), *paths]


class _Tail:
    def __init__(self, bytes_max: int) -> None:
        self._bytes_max, self._data, self._is_cut = bytes_max, bytearray(), False
        self.ended = trio.Event()
        """Set when the stream ends."""

    async def read(self, stream: trio.abc.ReceiveStream) -> None:
        while data := await stream.receive_some(CHUNK_BYTES):
            self._data += data
            if len(self._data) > 2 * self._bytes_max:
                del self._data[: -self._bytes_max]
                self._is_cut = True
        self.ended.set()

    @property
    def text(self) -> str:
        """The last bytes as text.

        If earlier bytes were dropped, the first line is incomplete. An incomplete first line is left out, so that the
        text does not begin with a part of a secret. If the text has only this line, the line is kept.
        """
        data = bytes(self._data[-self._bytes_max :])
        if self._is_cut or len(self._data) > self._bytes_max:
            data = data.partition(b"\n")[2] or data
        return data.decode(errors="replace")


async def _send_all(stream: trio.abc.SendStream, data: bytes) -> None:
    with suppress(trio.BrokenResourceError):  # The agent may end before it has read all data.
        await stream.send_all(data)
    await stream.aclose()


def result_of(spec: AgentSpec, code: int, report: AgentReport, errors: str) -> ToolResult:
    """Return the result of an agent's call, from its exit code, its report and its standard error."""
    cost, message = report.cost, report.text or errors
    if code < 0:
        return ToolResult(ToolOutcome.BROKEN, message, f"ended by signal {-code}", cost)
    if code:
        why = f": {report.problem}" if report.problem and report.text else ""
        return ToolResult(ToolOutcome.FAILED, message, f"exit code {code}{why}", cost)
    if report.problem:
        return ToolResult(ToolOutcome.FAILED, message, report.problem, cost)
    if cost.micro_usd is not None and cost.micro_usd > spec.micro_usd_max:
        spent, most = money(cost.micro_usd / MICRO), money(spec.micro_usd_max / MICRO)
        return ToolResult(
            ToolOutcome.FAILED, message, f"the call cost {spent}, over its limit of {most} (max_cost_usd)", cost
        )
    return ToolResult(ToolOutcome.SUCCEEDED, report.text, "", cost)
