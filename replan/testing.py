"""The pytest plug-in for tests of plans: fixtures for homes and scripted models, and a marker for recorded replies.

A test that is marked `replan_recording("replies.yaml")` plans with the replies in that file. The file is in the folder
of the test. The test needs no provider. If a prompt differs from the recorded prompt, the test fails and shows the
difference. `pytest --replan-record` calls the model in `REPLAN_MODEL` instead, and overwrites the file.
`--replan-record-missing` calls the model only for replies that the file lacks, and adds them to the file.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from actors.plans.plan import Plan

__all__ = ["assert_plan", "replan_home", "replan_script"]

MARKER = "replan_recording"
_BEGUN = pytest.StashKey[set["Path"]]()


def assert_plan(plan: Plan | Mapping[str, Any] | str, **settings: Any) -> None:
    """Fail if a plan is not valid. The message of the failure has the findings.

    `settings` are the settings of `replan.check`, such as `level`.
    """
    __tracebackhide__ = True
    from replan.api.check import check

    verdict = check(plan, **settings)
    if not verdict.passed:
        lines = (f"{finding.code} at {finding.where or 'the plan'}: {finding.message}" for finding in verdict.findings)
        level = settings.get("level", "medium")
        pytest.fail(f"the plan is not valid at level {level}:\n" + "\n".join(lines), pytrace=False)


@pytest.fixture
def replan_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a new home for the test.

    All functions of `replan` use this home, unless they name another one.
    """
    home = tmp_path / "replan-home"
    monkeypatch.setenv("REPLAN_HOME", str(home))
    return home


@pytest.fixture
def replan_script(tmp_path: Path) -> Callable[[Mapping[str, Any]], str]:
    """Return a function that makes a scripted model from a script, and returns the model's name.

    A script maps steps to lists of replies.
    """

    def make(script: Mapping[str, Any]) -> str:
        number = len(list(tmp_path.glob("replan-script-*.json")))
        path = tmp_path / f"replan-script-{number}.json"
        path.write_text(json.dumps(script), encoding="utf-8")
        return f"scripted:{path}"

    return make


@pytest.fixture
def _replan_recorded(
    request: pytest.FixtureRequest, replan_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    marker = request.node.get_closest_marker(MARKER)
    mode = marker.kwargs.get("mode", "strict")
    if len(marker.args) != 1 or {*marker.kwargs} - {"mode"} or mode not in ("strict", "lenient"):
        pytest.fail(f"{MARKER} takes a file of replies, and mode='strict' or 'lenient'", pytrace=False)
    path, option = request.node.path.parent / marker.args[0], request.config.getoption
    if option("--replan-record") or option("--replan-record-missing"):
        begun = request.config.stash.setdefault(_BEGUN, set())
        # Tests may share a file. The first test begins it anew.
        if option("--replan-record") and path not in begun:
            path.unlink(missing_ok=True)
        begun.add(path)
        monkeypatch.setenv("REPLAN_MODEL", f"recorded:{path}?record={os.environ.get('REPLAN_MODEL') or 'template:bug'}")
    elif not path.is_file():
        pytest.fail(f"there are no recorded replies in {path}; record them with --replan-record", pytrace=False)
    else:
        monkeypatch.setenv("REPLAN_MODEL", f"recorded:{path}{'?lenient' if mode == 'lenient' else ''}")
    yield
    divergence = _divergence(replan_home)
    if divergence:
        pytest.fail(f"{path}: {divergence}", pytrace=False)


def _divergence(home: Path) -> str:
    import anyio

    from actors.run.calls import CallFailed
    from replan.api.options import run_at_home
    from runtime.journal.port import RunFilter
    from runtime.models.recording import SAID

    async def read(engine: Any) -> str:
        for row in reversed(await engine.journal.runs(RunFilter())):
            for record in await engine.journal.read(row.run):
                if isinstance(record.event, CallFailed) and record.event.fault.message.startswith(SAID):
                    return record.event.fault.message
        return ""

    return anyio.run(run_at_home, home, read, backend="trio")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that record replies."""
    group = parser.getgroup("replan")
    text = f"ask the model, and record its replies for tests that are marked {MARKER}"
    group.addoption("--replan-record", action="store_true", help=text)
    text = "ask the model only for replies that these recordings lack, and add them"
    group.addoption("--replan-record-missing", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    text = f"{MARKER}(file, mode='strict'): plan with the replies in a file beside the test"
    config.addinivalue_line("markers", text)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Add the fixture for recorded replies to each marked test."""
    if isinstance(item, pytest.Function) and item.get_closest_marker(MARKER):
        item.fixturenames.insert(0, "_replan_recorded")
