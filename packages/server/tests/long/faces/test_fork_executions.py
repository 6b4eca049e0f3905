"""Clients fork executions over HTTP, on the page and over MCP: by the same rules, in a folder that no client names."""

from pathlib import Path

import pytest

import replan
from packages.server.tests.faces.faces import REFUSED, house
from replan.runs.reader import ALL
from tests.long.cli.test_fork_execution import ACTIONS, PLAN, TOOLS, files, git
from tests.support.python_tools import execution_options

OK = "accepted"
FACES = ("HTTP", "page", "MCP")
MADE, SENT, ASKED = "make/r1.v1.a1", "send/r1.v1.a1", "the record that asks for the call of 'send'"
"""An attempt whose files a snapshot shows, the last attempt, and a place that no snapshot shows."""
RULES = {
    "git": [
        ({"at": ASKED}, REFUSED, "there is no snapshot of the workspace at record"),
        ({"at": "nowhere/r1.v1.a1"}, REFUSED, "the run has no attempt 'nowhere/r1.v1.a1'"),
        ({"at": MADE, "policy": "belief"}, REFUSED, "a fork of this kind of run cannot use another policy"),
        ({"at": MADE, "workflow": "search"}, REFUSED, "a fork of this kind of run cannot use another workflow"),
        ({"at": MADE, "max_calls": 10**6}, REFUSED, "clients may not set more than"),
        ({"at": MADE}, OK, ["given", ".gitattributes", "made"]),
        ({"at": SENT}, OK, ["given", ".gitattributes", "made", "log"]),
    ],
    "plain": [
        (
            {"at": MADE},
            REFUSED,
            "the workspace is not a git repository, and has changed since the record at which you fork",
        ),
        ({"at": SENT}, OK, ["given", "made", "log"]),
    ],
}
"""What a client orders, what becomes of it, and the reason or the files of the fork."""


@pytest.fixture(params=[*RULES])
def sort(request):
    """Whether the workspace is a git repository."""
    return request.param


@pytest.fixture
def options(tmp_path, sort):
    """Keywords that execute the plan."""
    options = {**execution_options(tmp_path, TOOLS, ACTIONS), "home": tmp_path / "home"}
    work = options["workspace"]
    (work / "given").write_text("one")
    if sort == "git":
        (work / ".gitattributes").write_text("* text=auto\n")
        git(work, "init", "-q")
        git(work, "add", "-A")
        git(work, "commit", "-qm", "first")
    return options


@pytest.mark.parametrize("face", FACES)
async def test_an_execution_is_forked_in_a_folder_that_no_client_names(face, sort, options, tmp_path, monkeypatch):
    async with house(face, tmp_path, monkeypatch, hosts=False, allow_execute=True) as home:
        run = (await replan.aexecute(PLAN, **options)).run_id
        records, known = await home.engine.journal.read(run), {run}
        (asked,) = [each.seq for each in records if getattr(each.event, "node", "") == f"{SENT}.act"]
        for order, result, told in RULES[sort]:
            wanted = {**order, "at": str(asked)} if order["at"] == ASKED else order
            assert (said := await home.do("fork", run, wanted))[0] == result, said
            new = {row.run for row in await home.engine.journal.runs(ALL)} - known
            known |= new
            if result == REFUSED:
                assert (told in said[1], new) == (True, set()), said
                continue
            (fork,) = new
            state, _ = await home.engine.load(fork)
            assert state.config.workspace == str(tmp_path / f"work-{fork}")
            assert {*files(Path(state.config.workspace))} == {*told}
        if face != "page":  # A form has no such field, and others are passed over.
            assert (await home.do("fork", run, {"at": SENT, "workspace": str(tmp_path / "mine")}))[0] == REFUSED
        assert await home.engine.journal.read(run) == records, "the other run is only read"
        made = {path.name for path in tmp_path.iterdir() if path.name.startswith("work-")}
        assert made == {f"work-{fork}" for fork in known - {run}}
    assert (tmp_path / "sent").read_text() == "x", "nothing was sent again"


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("sort", ["git"], indirect=True)
async def test_a_server_that_executes_no_plans_forks_no_execution(face, sort, options, tmp_path, monkeypatch):
    async with house(face, tmp_path, monkeypatch, hosts=False) as home:
        run = (await replan.aexecute(PLAN, **options)).run_id
        for at in (MADE, SENT, "1", "nowhere/r1.v1.a1", ""):
            said, text = await home.do("fork", run, {"at": at})
            assert (said, "it was started without --allow-execute" in text) == (REFUSED, True), text
        assert [row.run for row in await home.rows()] == [run]
        if face == "page":
            page = (await home.face.web.browser.get(f"/runs/{run}/attempts/{MADE}.act")).text
            assert "Output of write" in page
            assert 'id="fork-here"' not in page
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("work-")]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("sort", ["git"], indirect=True)
async def test_a_fork_asks_a_person_before_a_call_is_made_again(face, options, tmp_path, monkeypatch):
    async with house(face, tmp_path, monkeypatch, hosts=True, allow_execute=True) as home:
        run = (await replan.aexecute(PLAN, **options)).run_id
        assert (await home.do("fork", run, {"at": MADE}))[0] == OK
        (fork,) = {row.run for row in await home.rows()} - {run}
        await home.waits(fork)
        assert (tmp_path / "sent").read_text() == "x"
        said, text = await home.do("answer", fork, "it ran and succeeded")
        if face != "page":
            assert (said, "only a person" in text) == (REFUSED, True), text
            await home.engine.answer(f"{fork}/q1", "it ran and succeeded", via="web")
        await home.settled(fork, "success")
        assert (await home.engine.result(fork)).fork.origin == run
    assert (tmp_path / "sent").read_text() == "x"
    assert "log" not in files(tmp_path / f"work-{fork}")
