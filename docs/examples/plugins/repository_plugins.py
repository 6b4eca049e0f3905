"""A guard and a generator written against anyio: they use a task group, a time limit and worker threads.

`recon_from_text` extracts facts from a problem's text, without a model. `files_exist` checks that the
files in these facts exist in a repository.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from replan import Artifact, Context, Finding, UsageProblem, Verdict

FILE = re.compile(r"\b(?:[\w-]+/)+[\w-]+\.\w+\b")
TEST = re.compile(r"\b(?:[\w-]+/)*test_\w+\.py(?:::\w+)?")
API = re.compile(r"\b(?:GET|POST|PUT|DELETE) /[\w/]*|\b\w+::\w+\b(?!/)")

EXTRACTION_SECONDS = 20.0
"""The time limit of one extraction, in seconds."""
READERS_MAX = 8
"""The largest number of files that are looked up at the same time, each in its own worker thread."""


async def recon_from_text(context: Context) -> str:
    """Return the facts in the problem's text, as the JSON object that `recon_valid` expects.

    Raises `TimeoutError` after `EXTRACTION_SECONDS`.
    """
    facts: dict[str, list[str]] = {
        "stack_traces": [],
        "reproduction_steps": [],
        "constraints_mentioned": [],
        "requirements": [],
    }

    async def extract(key: str, pattern: re.Pattern[str]) -> None:
        matches = await anyio.to_thread.run_sync(pattern.findall, context.specification)
        facts[key] = list(dict.fromkeys(matches))

    with anyio.fail_after(EXTRACTION_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(extract, "mentioned_files", FILE)
            group.start_soon(extract, "test_references", TEST)
            group.start_soon(extract, "apis_involved", API)
    return json.dumps(facts)


def make_files_exist(config: Mapping[str, Any]) -> Callable[[Artifact, Context], Awaitable[Verdict]]:
    """Return the guard. `root` is the repository's folder; `seconds` is the time limit for all files of one artifact.

    Raises `UsageProblem` for a folder that does not exist.
    """
    root, seconds = Path(config.get("root", ".")), float(config.get("seconds", 5))
    if not root.is_dir():
        raise UsageProblem(f"{root} is not a folder", place="files_exist: root")

    async def files_exist(artifact: Artifact, _: Context) -> Verdict:
        """Accept an artifact if every file in `mentioned_files` exists."""
        missing: list[str] = []
        slots = anyio.CapacityLimiter(READERS_MAX)

        async def look_up(name: str) -> None:
            exists = (root / name).is_file
            # The thread may be abandoned: a thread that hangs on a network drive must not delay the time limit.
            if not await anyio.to_thread.run_sync(exists, abandon_on_cancel=True, limiter=slots):
                missing.append(name)

        with anyio.move_on_after(seconds) as time_limit:
            async with anyio.create_task_group() as group:
                for name in mentioned_files(artifact):
                    group.start_soon(look_up, name)
        if time_limit.cancelled_caught:
            finding = Finding(code="tool.transient", message=f"The files were not looked up within {seconds:g} s.")
            return Verdict(guard="files_exist", passed=False, score=0.0, findings=(finding,))
        findings = tuple(
            Finding(
                code="house.file_missing",
                message=f"{name} does not exist. Name files of the repository only.",
                where="mentioned_files",
            )
            for name in sorted(missing)
        )
        return Verdict(guard="files_exist", passed=not findings, score=1.0 / (1 + len(findings)), findings=findings)

    return files_exist


def mentioned_files(artifact: Artifact) -> list[str]:
    """Return the files that an artifact mentions; none if it is not an object with such a list."""
    value = getattr(artifact.value, "value", None)
    names = value.get("mentioned_files") if isinstance(value, dict) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
