"""The pytest plug-in: homes, models and recorded replies for tests of plans. A test has to ask for each.

A test that is marked `replan_recording("replies.yaml")` plans with the replies in that file, beside the test, and needs
no provider. `pytest --replan-record` asks the model of the environment instead, and writes the file anew.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from actors.plans.plan import Plan

MARKER = "replan_recording"


def assert_plan(plan: Plan | Mapping[str, Any] | str, **settings: Any) -> None:
    """Fail with the findings unless a plan is proved; `settings` are those of `replan.check`, such as `level`."""
    __tracebackhide__ = True
    from replan.api.check import check

    verdict = check(plan, **settings)
    if not verdict.passed:
        lines = (f"{finding.code} at {finding.where or 'the plan'}: {finding.message}" for finding in verdict.findings)
        pytest.fail("the plan is not proved:\n" + "\n".join(lines), pytrace=False)


@pytest.fixture
def replan_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the test, empty, which all functions of `replan` use that name no other."""
    home = tmp_path / "replan-home"
    monkeypatch.setenv("REPLAN_HOME", str(home))
    return home


@pytest.fixture
def replan_script(tmp_path: Path) -> Callable[[Mapping[str, Any]], str]:
    """Return a function that makes a model from a script, a mapping of steps to lists of replies."""

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
    if len(marker.args) != 1 or marker.kwargs:
        pytest.fail(f"{MARKER} takes one argument, the file of the replies", pytrace=False)
    path = request.node.path.parent / marker.args[0]
    if request.config.getoption("--replan-record"):
        yield
        path.write_text(_recording(replan_home), encoding="utf-8")
        return
    if not path.is_file():
        pytest.fail(f"there are no recorded replies in {path}; record them with --replan-record", pytrace=False)
    monkeypatch.setenv("REPLAN_MODEL", f"scripted:{path}")
    yield


def _recording(home: Path) -> str:
    """Return the replies in the runs of a home as a script, by request id."""
    import anyio
    import yaml

    from replan.api.options import at_home
    from replan.runs.models import recorded
    from runtime.journal.port import RunFilter
    from runtime.models.port import Reply

    async def read(engine: Any) -> dict[str, str]:
        replies: dict[str, str] = {}
        for row in await engine.journal.runs(RunFilter()):
            for request, reply in (await recorded(engine.journal, row.run)).items():
                if not isinstance(reply, Reply):
                    continue
                if replies.setdefault(request, reply.text) != reply.text:
                    pytest.fail(f"two runs of this test ask for {request}; a recording is of one run", pytrace=False)
        return replies

    return yaml.safe_dump(anyio.run(at_home, home, read, backend="trio"), allow_unicode=True, sort_keys=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that records."""
    text = f"ask the models, and write the replies of tests that are marked {MARKER}"
    parser.getgroup("replan").addoption("--replan-record", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """State the marker."""
    config.addinivalue_line("markers", f"{MARKER}(file): plan with the replies in a file beside the test")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a marked test the fixture that its marker stands for."""
    if isinstance(item, pytest.Function) and item.get_closest_marker(MARKER):
        item.fixturenames.insert(0, "_replan_recorded")
