"""Hostile orders: names that are paths, raised limits, attached bytes, and artifacts under review."""

import base64
import json

from packages.server.tests.web.test_api import Program
from packages.server.tests.web.test_inbox import field
from packages.server.tests.web.world import served
from tests.cli.samples import PLAN, PROBLEM

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


async def test_names_of_files_that_are_paths_and_unknown_keys_start_nothing(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        program = Program(web)
        for name in ("../x", "/x", "a/b", "a\\b", "", ".", "..", "x\r\ny", "id_rsa", ".env", "a" * 130):
            order = {"problem": PROBLEM, "model": "plans", "attachments": [{"name": name, "content": "eA=="}]}
            assert (await program.post("/api/runs", order, key=f"n{name!r}"[:20].replace(" ", ""))).status_code == 422
        for keys in ({"plugins": ["x.py"]}, {"prompts": {}}, {"api_key": "x"}, {"base_url": "http://x"}, {"repo": "."}):
            answer = await program.post("/api/runs", {"problem": PROBLEM, "model": "plans", **keys}, key="other")
            assert answer.status_code == 422
        assert await web.reader_rows() == []


async def test_no_client_lets_a_belief_spend_more_than_the_server(tmp_path):
    """`stop_below` is the limit of which less spends more: clients may raise it, and the server's is the least."""
    workflow = tmp_path / "mine.yaml"
    workflow.write_text(BELIEF)
    rows = tmp_path / "rows.yaml"
    rows.write_text(BELIEF.replace("policy: belief\n", ""))
    offered = {"mine": str(workflow), "rows": str(rows)}
    async with served(tmp_path, hosts=False, stop_below=0.2, workflows=offered) as web:
        program = Program(web)
        order = {"problem": PROBLEM, "model": "template:bug", "workflow": "mine"}
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
        plain = {"problem": PROBLEM, "model": "template:bug", "workflow": "rows"}
        run = (await program.post("/api/runs", plain, key="plain")).json()["run_id"]
        assert (await web.engine.common_with_inbox(run)).ledger.limits.stop_below is None
        assert 'name="stop_below"' not in (await web.browser.get(f"/runs/{run}")).text


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
        version = field((await web.browser.get("/")).text, "version")
        fields = {"version": version, "picked": "reject", "typed": "no way back", "do": "answer"}
        assert (await web.post(f"/questions/{question['id']}", fields)).headers["location"] == "/?done=answered"
        stored = [json.loads(each.body) for each in await web.engine.journal.inbox(run)]
        assert (stored[0]["answer"], stored[0]["via"]) == ("reject: no way back", "web")
