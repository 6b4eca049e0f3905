"""Hostile texts and orders: markup in every field that a model or a user fills, names that are paths, raised limits."""

import base64
import json

import pytest

from tests.cli.samples import ANALYSIS, PLAN, PROBLEM, RECON, STRATEGY
from tests.web.browsing import check_quiet, signed_in
from tests.web.hostile_fields import EVIL
from tests.web.test_api import Program
from tests.web.test_inbox import field
from tests.web.world import served

BELIEF = """name: mine
policy: belief
action_pairs:
  g_strategy: {guard: strategy_valid, generator: LLMJsonGenerator}
  g_plan: {guard: plan_medium, generator: LLMPlanGenerator, requires: [g_strategy]}
"""


REVIEWED = """
name: reviewed
action_pairs:
  g_plan:
    generator: model
    guard:
      all_of: [plan_medium, human_review]
    role: plan
"""


def poisoned(value):
    """Return a value with the text added to each of its texts that no guard wants exactly."""
    match value:
        case dict():
            kept = {"problem_type", "language", "severity", "guard", "on_failure", "step_id", "dependencies"}
            kept |= {"preconditions", "effects", "delete_effects", "failure_effects", "initial_state", "goal_state"}
            kept |= {"strategy_id", "expected_guards", "generator"}
            return {key: item if key in kept else poisoned(item) for key, item in value.items()}
        case list():
            return [poisoned(item) for item in value]
        case str():
            return f"{value} {EVIL}"
        case _:
            return value


ASKING = {**ANALYSIS, "open_questions": [f"Which one? {EVIL}"]}
SCRIPT = {
    "g_analysis": [poisoned(ASKING), *[poisoned(ANALYSIS)] * 5],
    "g_recon": [poisoned(RECON)] * 5,
    "g_strategy": [poisoned(STRATEGY)] * 5,
    "g_plan": [EVIL, {**PLAN, "goal_state": ["fixed", f"x{EVIL}"]}, poisoned(PLAN), *[PLAN] * 5],
}


async def poison(web):
    """Fill every field of a run with the text, and return the paths of all pages that show it."""
    problem = f"# Login fails {EVIL}\n\nThe login fails. {EVIL}"
    run = (await web.post("/runs", {"problem": problem, "model": "evil"})).headers["location"].split("/")[2]
    run = run.partition("?")[0]
    await web.settled(run, "waiting")
    await web.post(f"/runs/{run}/tell", {"text": f"Note {EVIL}", "as": "note"})
    waiting = ["/", f"/runs/{run}", f"/questions/{run}/q1"]
    pages = [(path, (await web.browser.get(path)).text) for path in waiting]
    version = field(pages[0][1], "version")
    wrong = await web.post(f"/questions/{run}/q1", {"version": version, "typed": " ", "do": "answer", "back": EVIL})
    answered = await web.post(f"/questions/{run}/q1", {"version": version, "typed": EVIL, "do": "answer", "back": EVIL})
    assert answered.headers["location"] == "/?done=answered"
    await web.settled(run, "finished")
    refused = await web.post("/runs", {"problem": EVIL, "model": EVIL, "workflow": EVIL, "max_calls": EVIL})
    assert refused.status_code == 422
    pages += [("/wrong", wrong.text), ("/refused", refused.text)]
    attempts = [f"/runs/{run}/attempts/{node}/v1.a{number}" for node in ("g_analysis", "g_plan") for number in (1, 2)]
    paths = [f"/runs/{run}", f"/runs/{run}/records", "/runs", "/", f"/runs?q={EVIL}", *attempts, f"/?done={EVIL}"]
    paths += [f"/runs/{run}/attempts/{EVIL}", f"/runs/{EVIL}", f"/questions/{run}/{EVIL}", f"/{EVIL}"]
    return run, paths, pages


async def test_markup_in_every_field_is_shown_as_text(tmp_path):
    async with served(tmp_path, scripts={"evil": SCRIPT}) as web:
        _, paths, pages = await poison(web)
        pages += [(path, (await web.browser.get(path.replace("\x1b", "").replace("\x07", ""))).text) for path in paths]
        shown = 0
        for path, text in pages:
            assert "<img" not in text, path
            assert "<script data-evil" not in text, path
            assert "Login fails 49" not in text, path
            assert "\u202e" not in text, path
            assert "\x1b" not in text, path
            shown += text.count("&lt;img src=x data-evil")
        assert shown > 20


async def test_no_markup_of_a_model_or_a_user_is_run_by_a_browser(tmp_path, browser):
    async with served(tmp_path, scripts={"evil": SCRIPT}) as web:
        run, _, _ = await poison(web)
        page = await signed_in(browser, web)
        attempts = [f"/runs/{run}/attempts/{node}/v1.a1" for node in ("g_analysis", "g_recon", "g_plan")]
        for path in ("/", "/runs", f"/runs/{run}", f"/runs/{run}/records", *attempts):
            await page.go(f"{web.address}{path}")
            assert await page.evaluate("window.evil === undefined && !document.querySelector('[data-evil]')"), path
        check_quiet(page, web)


NAMES = [
    "/etc/passwd",
    "../../config.yaml",
    "file:///etc/passwd",
    "http://127.0.0.1:1/x",
    "scripted:/etc/passwd",
    "scripted:x.yaml",
    "replay:abcdefgh",
    "simulated:default",
    "gpt-5",
    "search.yaml",
    "./search",
    "",
    "x" * 100,
    "default\x00",
]
"""Names that no settings offer: paths, addresses, and models that would cost money or read files."""


async def test_paths_addresses_and_unknown_names_start_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("replan.service.service.WRITES_MAX", 10_000)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    async with served(tmp_path, hosts=False) as web:
        program = Program(web)
        for number, name in enumerate(NAMES):
            for key in ("workflow", "model"):
                order = {"problem": PROBLEM, "model": "plans", key: name}
                answer = await program.post("/api/runs", order, key=f"{key}{number}")
                if key == "model" or name:
                    assert answer.status_code == 422, (key, name)
                page = await web.post("/runs", order)
                if name:
                    assert page.status_code == 422, (key, name)
        for name in ("../x", "/x", "a/b", "a\\b", "", ".", "..", "x\r\ny", "id_rsa", ".env", "a" * 130):
            order = {"problem": PROBLEM, "model": "plans", "attachments": [{"name": name, "content": "eA=="}]}
            assert (await program.post("/api/runs", order, key=f"n{name!r}"[:20].replace(" ", ""))).status_code == 422
        for keys in ({"plugins": ["x.py"]}, {"prompts": {}}, {"api_key": "x"}, {"base_url": "http://x"}, {"repo": "."}):
            answer = await program.post("/api/runs", {"problem": PROBLEM, "model": "plans", **keys}, key="other")
            assert answer.status_code == 422
        allowed = [row for row, _ in await web.reader_rows()]
        assert len(allowed) <= 1  # An empty name on the form is the default.


@pytest.mark.parametrize("name", ["max_calls", "max_tokens", "max_cost", "active_time"])
async def test_no_client_gets_more_than_the_servers_ceilings(tmp_path, name):
    ceilings = {"max_calls": 25, "max_tokens": 50_000, "max_cost": 1.0, "active_time": 60.0}
    async with served(tmp_path, hosts=False, **ceilings) as web:
        program = Program(web)
        more = ceilings[name] * 2 if name != "max_calls" else 26
        typed = f"{more}s" if name == "active_time" else str(more)
        answer = await program.post("/api/runs", {"problem": PROBLEM, "model": "plans", name: more})
        assert answer.status_code == 422
        assert answer.json()["error"]["place"] == name
        started = await program.post("/api/runs", {"problem": PROBLEM, "model": "plans"})
        run = started.json()["run_id"]
        limits = (await web.engine.common_with_inbox(run)).ledger.limits
        assert (limits.calls, limits.tokens, limits.micro_usd, limits.active_seconds) == (25, 50_000, 1_000_000, 60.0)
        assert (await program.post(f"/api/runs/{run}/limits", {name: more})).status_code == 422
        assert (await web.post(f"/runs/{run}/limits", {name: typed})).status_code == 422
        assert (await web.post("/runs", {"problem": PROBLEM, "model": "plans", name: typed})).status_code == 422
        assert (await web.engine.common_with_inbox(run)).ledger.limits == limits


async def test_no_client_lets_a_belief_spend_more_than_the_server(tmp_path):
    """`stop_below` is the limit of which less spends more: clients may raise it, and the server's is the least."""
    workflow = tmp_path / "mine.yaml"
    workflow.write_text(BELIEF)
    rows = tmp_path / "rows.yaml"
    rows.write_text(BELIEF.replace("policy: belief\n", ""))
    offered = {"mine": str(workflow), "rows": str(rows)}
    async with served(tmp_path, hosts=False, stop_below=0.2, workflows=offered) as web:
        program = Program(web)
        order = {"problem": PROBLEM, "model": "rules", "workflow": "mine"}
        refused = await program.post("/api/runs", {**order, "stop_below": 0.1}, key="less")
        assert (refused.status_code, refused.json()["error"]["place"]) == (422, "stop_below")
        for given, key, stored in (({}, "none", 0.2), ({"stop_below": 0.3}, "more", 0.3)):
            run = (await program.post("/api/runs", {**order, **given}, key=key)).json()["run_id"]
            assert (await web.engine.common_with_inbox(run)).ledger.limits.stop_below == stored
        assert (await program.post(f"/api/runs/{run}/limits", {"stop_below": 0.1}, key="lower")).status_code == 422
        assert (await web.post(f"/runs/{run}/limits", {"stop_below": "0"})).status_code == 422
        assert (await web.engine.common_with_inbox(run)).ledger.limits.stop_below == 0.3
        assert (await program.post(f"/api/runs/{run}/limits", {"stop_below": 0.4}, key="higher")).status_code == 200
        assert (await web.engine.common_with_inbox(run)).ledger.limits.stop_below == 0.4
        assert (await web.post(f"/runs/{run}/limits", {"stop_below": "0.5"})).status_code == 303
        assert (await web.engine.common_with_inbox(run)).ledger.limits.stop_below == 0.5
        assert 'name="stop_below"' in (await web.browser.get(f"/runs/{run}")).text
        plain = {"problem": PROBLEM, "model": "rules", "workflow": "rows"}
        run = (await program.post("/api/runs", plain, key="plain")).json()["run_id"]
        assert (await web.engine.common_with_inbox(run)).ledger.limits.stop_below is None
        assert 'name="stop_below"' not in (await web.browser.get(f"/runs/{run}")).text


async def test_a_client_has_only_so_many_runs_at_once_and_in_a_day(tmp_path):
    async with served(tmp_path, hosts=False, runs_at_once=2, runs_per_day=3) as web:
        one, two = Program(web, name="one"), Program(web, name="two")
        order = {"problem": PROBLEM, "model": "plans"}
        codes = [(await one.post("/api/runs", order, key=str(number))).status_code for number in range(3)]
        assert codes == [201, 201, 429]
        assert (await two.post("/api/runs", order)).status_code == 201
        for row, _ in await web.reader_rows():
            await web.engine.resume(row.run)
        codes = [(await one.post("/api/runs", order, key=str(number))).status_code for number in range(2, 5)]
        assert codes == [201, 429, 429]


async def test_only_people_answer_reviews(tmp_path):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    scripts = {"one": {"g_plan": [PLAN, PLAN]}}
    async with served(tmp_path, hosts=False, scripts=scripts, workflows={"reviewed": str(workflow)}) as web:
        program = Program(web)
        run = await web.start("one", workflow="reviewed")
        await web.engine.resume(run)
        question = (await program.get("/api/questions")).json()["questions"][0]
        assert question["artifact"]
        answer = await program.post(f"/api/questions/{question['id']}", {"answer": "approve"})
        assert answer.status_code == 403
        page = (await web.browser.get("/")).text
        fields = {"version": field(page, "version"), "picked": "reject", "typed": "no way back", "do": "answer"}
        assert (await web.post(f"/questions/{question['id']}", fields)).headers["location"] == "/?done=answered"
        stored = [json.loads(each.body) for each in await web.engine.journal.inbox(run)]
        assert (stored[0]["answer"], stored[0]["via"]) == ("reject: no way back", "web")


async def test_attached_bytes_are_text_or_refused(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        program = Program(web)
        codes = []
        for number, data in enumerate((b"\0", b"a" * 64_000 + b"\xff" * 10, b"\xed\xa0\x80")):
            files = [{"name": "notes.txt", "content": base64.b64encode(data).decode()}]
            order = {"problem": PROBLEM, "model": "plans", "attachments": files}
            codes.append((await program.post("/api/runs", order, key=str(number))).status_code)
        assert codes == [422, 201, 201]


async def test_a_review_is_marked_and_shown_and_no_program_answers_it(tmp_path):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    workflows = {"reviewed": str(workflow)}
    async with served(tmp_path, scripts={"one": {"g_plan": [PLAN]}}, workflows=workflows) as web:
        program = Program(web)
        order = {"problem": PROBLEM, "workflow": "reviewed", "model": "one"}
        run = (await program.post("/api/runs", order)).json()["run_id"]
        await web.settled(run, "waiting")
        listed = (await program.get(f"/api/runs/{run}/questions")).json()
        [question] = listed["questions"]
        assert question["people_only"] is True
        assert "plan_id" in question["artifact"]
        assert (listed["problems"], listed["more"]) == ([], False)
        assert (await program.post(f"/api/questions/{question['id']}", {"answer": "approve"})).status_code == 403
