"""What is the same in every face: a rule is a row, and each of its operations comes to the same in all of them."""

import json

import pytest
import trio
from click.testing import CliRunner

from actors.run.ids import child_run
from actors.run.inbox import MESSAGE_MAX
from actors.values.answers import ANSWER_MAX
from packages.server.tests.faces.faces import FACES, MISSING, REFUSED, house
from packages.server.tests.web.test_hostile_texts import REVIEWED
from replan.cli.app import app
from replan.runs.reader import ALL
from replan.setup.installation import data_root
from runtime.drive.options import DriveOptions, Stop
from tests.cli.samples import ANALYSIS, ASKING, LOST, PLAN, distinct

SCRIPTS = {
    "choice": {
        "g_analysis": [{**ANALYSIS, "open_questions": [{"question": "Which?", "choices": ["red", "blue"]}]}, ANALYSIS],
        "g_plan": [PLAN],
    },
    "spent": {"g_plan": [*distinct(LOST, 2), PLAN]},
    "one": {"g_plan": [PLAN]},
    "child": {"c_analysis": [ASKING]},
}
WORKFLOWS = {
    "reviewed": REVIEWED,
    "above": 'name: above\naction_pairs:\n  g_plan: {generator: "workflow:./below.yaml", guard: plan_medium}\n',
    "below": "name: below\naction_pairs:\n  c_analysis: {generator: model, guard: analysis_valid}\n"
    "  c_plan: {generator: model, guard: plan_medium, requires: [c_analysis]}\n",
}
OK, AGAIN = "accepted", "duplicate"
BEFORE, STEP, ENDED = "another answer was given before", "is a step of run", "finished (cancelled)"
ASKED = {"model": "asks"}
RULES = {
    "the first answer counts": (
        ASKED,
        [
            ("answer", " 3.12 ", OK, ""),
            ("answer", "3.12", AGAIN, ""),
            ("answer", "3.11", REFUSED, BEFORE),
            ("decline", REFUSED, BEFORE),
        ],
    ),
    "a declined question stays declined": (
        ASKED,
        [("decline", OK, ""), ("decline", AGAIN, ""), ("answer", "3.12", REFUSED, "")],
    ),
    "an answer that does not fit leaves the question open": (
        {"model": "choice", "workflow": "option_a"},
        [
            ("answer", "green", REFUSED, "one of: red, blue"),
            ("answer", "  ", REFUSED, "must not be empty"),
            ("answer", "x" * (ANSWER_MAX + 1), REFUSED, ""),
            ("answer", "RED", OK, ""),
            ("answer", "red", AGAIN, ""),
        ],
    ),
    "what a run is told has some text, and not too much": (
        ASKED,
        [
            ("tell", "The store is Redis.", OK, ""),
            ("tell", "It must run offline.", "requirement", OK, ""),
            ("tell", " ", REFUSED, ""),
            ("tell", "x" * (MESSAGE_MAX + 1), REFUSED, ""),
        ],
    ),
    "a run that was cancelled takes nothing": (
        ASKED,
        [
            ("cancel", OK, ""),
            ("tell", "x", REFUSED, ENDED),
            ("answer", "3.12", REFUSED, ENDED),
            ("decline", REFUSED, ENDED),
            ("limit", "max_calls", 99, REFUSED, ""),
        ],
    ),
    "a success is final": (
        {"model": "one", "workflow": "single"},
        [("cancel", REFUSED, "finished already (success)"), ("limit", "max_calls", 99, REFUSED, "")],
    ),
    "a spent budget is raised, and not to what is spent": (
        {"model": "spent", "workflow": "single", "limits": {"max_calls": 1}},
        [
            ("limit", "max_calls", 0, REFUSED, "calls"),
            ("limit", "timeout", "0s", REFUSED, "timeout"),
            ("limit", "max_calls", 1, REFUSED, "calls"),
            ("limit", "max_calls", 9, {"command line": None}, ""),
        ],
    ),
    "only a person answers a review": (
        {"model": "one", "workflow": "reviewed"},
        [("answer", "approve", dict.fromkeys(("Python", "HTTP", "MCP"), REFUSED), "")],
    ),
    "a child run refers to its parent": (
        {"model": "child", "workflow": "above"},
        [
            ("cancel", REFUSED, STEP),
            ("tell", "Hurry.", REFUSED, STEP),
            ("answer", "yes", REFUSED, STEP),
            ("decline", REFUSED, STEP),
            ("limit", "max_calls", 99, REFUSED, STEP),
        ],
    ),
    "a run that is not there is named": (
        None,
        [
            ("cancel", MISSING, "zzzzzzzz"),
            ("tell", "x", MISSING, "zzzzzzzz"),
            ("answer", "x", MISSING, "zzzzzzzz"),
            ("decline", MISSING, "zzzzzzzz"),
            ("limit", "max_calls", 9, MISSING, "zzzzzzzz"),
        ],
    ),
}
"""How a run is started, and the operations with it: the name, the values, the result, words of the text.

A result of some faces alone stands by their names; the others accept. None: the face has other means.
"""


@pytest.fixture
def settings(tmp_path):
    """The scripts and workflows that a served home offers."""
    for name, text in WORKFLOWS.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return {
        "scripts": SCRIPTS,
        "workflows": {name: str(tmp_path / f"{name}.yaml") for name in ("reviewed", "above")},
    }


@pytest.mark.parametrize("face", FACES)
async def test_the_rules_hold_in_every_face(face, tmp_path, monkeypatch, settings):
    wrong = []
    async with house(face, tmp_path, monkeypatch, **settings) as home:
        for rule, (order, operations) in RULES.items():
            run = "zzzzzzzz" if order is None else await home.run(**order)
            if rule == "a child run refers to its parent":
                run = child_run(run, "g_plan/v1.a1")
            for name, *values, result, words in operations:
                wanted = result if isinstance(result, str) else result.get(face, OK)
                if wanted is None:
                    continue
                said, text = await home.do(name, run, *values)
                if said != wanted or words not in text:
                    wrong.append((rule, name, wanted, words, said, text[-300:]))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("face", [face for face in FACES if face != "Python"])
async def test_every_face_lists_an_approval_before_an_older_question(face, tmp_path, monkeypatch, settings):
    async with house(face, tmp_path, monkeypatch, **settings) as home:
        older, newer = await home.run(**ASKED), await home.run(model="one", workflow="reviewed")
        listed = [(each["run_id"], each["priority"]) for each in await home.face.questions()]
        assert listed == [(newer, "high"), (older, "normal")]
        if face == "command line":
            text = (await trio.to_thread.run_sync(CliRunner().invoke, app, ["questions"])).stdout
            assert text.index("Priority: high.") < text.index(older)


async def test_a_child_run_is_read_by_its_own_id_and_goes_on_with_its_parent(tmp_path, monkeypatch, settings):
    async with house("command line", tmp_path, monkeypatch, **settings) as home:
        run = await home.run(model="child", workflow="above")
        child = child_run(run, "g_plan/v1.a1")
        for command, shown in (("log", "requested, "), ("show", f"resume {run}")):
            done = await trio.to_thread.run_sync(CliRunner().invoke, app, [command, child])
            assert (done.exit_code, shown in done.output) == (0, True), done.output
        rows = json.loads((await home.face.call("runs"))[1])["runs"]
        assert [row["run_id"] for row in rows] == [run]


@pytest.mark.parametrize("face", ["HTTP", "page", "MCP"])
async def test_a_parked_run_and_one_that_is_spent_go_on_when_a_client_says_so(face, tmp_path, monkeypatch, settings):
    stop = Stop()
    stop.requested.set()
    async with house(face, tmp_path, monkeypatch, hosts=True, **settings) as home:
        parked = await home.run(DriveOptions(stop), model="plans")
        spent = await home.run(model="spent", workflow="single", limits={"max_calls": 1})
        assert (await home.engine.result(parked)).status == "parked"
        assert (await home.do("resume", parked))[0] == (await home.do("limit", spent, "max_calls", 9))[0] == OK
        for run in (parked, spent):
            await home.settled(run, "success")


@pytest.mark.parametrize("face", ["HTTP", "page", "MCP"])
async def test_a_run_is_forked_and_a_host_drives_the_fork(face, tmp_path, monkeypatch, settings):
    async with house(face, tmp_path, monkeypatch, hosts=True, **settings) as home:
        ended = await home.run(model="plans")
        before = await home.engine.journal.read(ended)
        for wrong in (
            {"at": "99"},
            {"at": ""},
            {"at": "1", "model": "nope"},
            {"at": "1", "policy": "nope"},
            {"at": "1", "max_calls": 10**6},
        ):
            assert (await home.do("fork", ended, wrong))[0] == REFUSED
        assert (await home.do("fork", "zzzzzzzz", {"at": "1"}))[0] == MISSING
        known = {row.run for row in await home.engine.journal.runs(ALL)}
        assert known == {ended}, "what is refused starts nothing"
        at = {"at": "before:g_plan/v1.a1", "model": "template:bug", "max_calls": 3}
        assert (await home.do("fork", ended, at))[0] == OK
        (fork,) = {row.run for row in await home.engine.journal.runs(ALL)} - known
        await home.settled(fork, "success")
        assert await home.engine.journal.read(ended) == before, "the other run is only read"
        result = await home.engine.result(fork)
        assert (result.calls, result.fork.origin) == (1, ended)


@pytest.mark.parametrize("face", ["HTTP", "page", "MCP"])
@pytest.mark.parametrize("policy", ["belief", "house"])
async def test_a_client_forks_under_a_policy_that_the_server_offers(face, policy, tmp_path, monkeypatch, settings):
    (tmp_path / "house.yaml").write_text((data_root() / "configs/policies/belief.yaml").read_text())
    offered = {"policies": {"house": str(tmp_path / "house.yaml")}}
    async with house(face, tmp_path, monkeypatch, hosts=False, **settings, **offered) as home:
        ended = await home.run(model="plans")
        before = {ended}
        assert (await home.do("fork", ended, {"at": "before:g_plan/v1.a1", "policy": policy}))[0] == OK
        (fork,) = {row.run for row in await home.engine.journal.runs(ALL)} - before
        state, _ = await home.engine.load(fork)
        assert state.config.policy.belief is not None
        of_a_path = {"at": "1", "policy": str(tmp_path / "house.yaml")}
        said, text = await home.do("fork", ended, of_a_path)
        assert (said, "this server offers no policy" in text) == (REFUSED, True), "a path is never taken from a client"
