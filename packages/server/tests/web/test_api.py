"""The HTTP API: every operation, its scopes, its idempotency keys, and its description."""

import base64
import json
import time
from contextlib import asynccontextmanager
from dataclasses import make_dataclass
from functools import cache

import trio
from jsonschema import Draft202012Validator

from packages.server.tests.web.world import served
from replan_server.service import access
from replan_server.service.limits import STREAMS_MAX
from replan_server.web.api_routes import addressed_operations, openapi
from runtime.drive.options import DriveOptions, Stop
from tests.cli.samples import BACKTRACKS, PROBLEM


class Program:
    """A client of the API. Each answer is compared with the schema of its operation."""

    def __init__(self, web, scope="control", name=None):
        self.web, self.headers = web, web.token(scope, name)

    async def get(self, path, **extra):
        return self.checked(await self.web.client.get(path, headers=self.headers, **extra))

    async def post(self, path, body=None, *, key="k", headers=None):
        sent = {**self.headers, "idempotency-key": key, **(headers or {})}
        return self.checked(await self.web.client.post(path, json={} if body is None else body, headers=sent))

    def checked(self, answer):
        path = answer.request.url.path
        found = [each for _, each in addressed_operations() if fits(each, answer.request.method, path)]
        if not found or answer.headers["content-type"] != "application/json":
            return answer
        document = description()
        responses = document["paths"][found[0].path][found[0].method.lower()]["responses"]
        assert str(answer.status_code) in responses, (path, answer.status_code, answer.text)
        name = responses[str(answer.status_code)]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        validator(name, _paths()).validate(answer.json())
        return answer


def _paths():
    return tuple(found.path for _, found in addressed_operations())


def description():
    """Return the description, made once for the same operations."""
    return _description(_paths())


@cache
def _description(_):
    return openapi()


@cache
def validator(name, _):
    schema = {"$ref": f"#/components/schemas/{name}", "components": description()["components"]}
    return Draft202012Validator(schema)


def fits(operation, method, path):
    """Tell whether an address is of an operation."""
    parts, wanted = path.split("/"), operation.path.split("/")
    if wanted[-1] == "{node}":
        parts = [*parts[: len(wanted) - 1], "/".join(parts[len(wanted) - 1 :])]
    alike = len(parts) == len(wanted) and all(
        one == other or one[:1] == "{" for one, other in zip(wanted, parts, strict=True)
    )
    return operation.method == method and alike


@asynccontextmanager
async def api(folder, **extra):
    """Serve a home, and yield it with a program that may do everything."""
    async with served(folder, signed_in=False, **extra) as web:
        yield web, Program(web)


async def test_a_run_is_started_asked_about_answered_and_read(tmp_path):
    async with api(tmp_path) as (web, program):
        file = {"name": "notes.md", "content": base64.b64encode(b"The store is slow.").decode()}
        order = {"problem": PROBLEM, "model": "asks", "max_calls": 12, "attachments": [file]}
        started = await program.post("/api/runs", order)
        assert started.status_code == 201, started.text
        run = started.json()["run_id"]
        await web.settled(run, "waiting")
        listed = (await program.get("/api/questions")).json()["questions"]
        assert [each["id"] for each in listed] == [f"{run}/q1"]
        assert (await program.get(f"/api/runs/{run}/questions")).json()["questions"] == listed
        answered = await program.post(f"/api/questions/{run}/q1", {"answer": "3.12"})
        assert answered.json()["result"] == "accepted"
        assert (await program.post(f"/api/questions/{run}/q1", {"answer": "3.12"})).json()["result"] == "duplicate"
        assert (await program.post(f"/api/questions/{run}/q1", {"answer": "3.11"})).status_code == 409
        await web.settled(run, "finished")
        result = (await program.get(f"/api/runs/{run}")).json()
        assert (result["status"], result["outcome"]) == ("finished", "success")
        assert result == {**(await web.engine.result(run)).to_json(), "driven": True}


def client_type(name):
    """Return the type that a generated client has for a schema: the described keys, and no other."""
    keys = description()["components"]["schemas"][name]["properties"]
    return make_dataclass(name, [(key, object, None) for key in keys])


async def test_a_generated_client_reads_how_a_run_ended(tmp_path):
    """It knows the described keys alone, so each key of a result is described."""
    result_type = client_type("ResultBody")
    async with api(tmp_path, scripts={"backtracks": BACKTRACKS}) as (web, program):
        run = await web.start("backtracks")
        await web.settled(run, "finished")
        result = result_type(**(await program.get(f"/api/runs/{run}")).json())
        assert result.outcome == "success"
        assert result.plan["steps"]
        assert result.question is None
        run = await web.start("asks")
        await web.settled(run, "waiting")
        result = result_type(**(await program.get(f"/api/runs/{run}")).json())
        assert result.outcome is None
        assert result.open_questions == [result.question["id"]] == [f"{run}/q1"]


async def test_everything_that_can_be_read_has_the_described_form(tmp_path):
    async with api(tmp_path, scripts={"backtracks": BACKTRACKS}) as (web, program):
        run = await web.start("backtracks")
        await web.settled(run, "finished")
        rows = (await program.get("/api/runs?status=finished&q=login")).json()
        assert [row["run_id"] for row in rows["runs"]] == [run]
        for query, found in (("kind=planning", 1), ("kind=execution", 0), ("cost=1000", 0), ("sort=calls", 1)):
            assert (await program.get(f"/api/runs?{query}")).json()["total"] == found, query
        for wrong in ("kind=plannig", "cost=free", "cost=-1", "sort=age", "status=done"):
            assert (await program.get(f"/api/runs?{wrong}")).status_code == 422, wrong
        assert len((await program.get(f"/api/runs/{run}/tree")).json()["nodes"]) == 9
        records = (await program.get(f"/api/runs/{run}/records?after=30")).json()
        assert records["records"][0]["seq"] == 31
        assert records["next_after"] is None
        budget = (await program.get(f"/api/runs/{run}/budget")).json()["budget"]
        assert (budget[0]["name"], budget[0]["spent"], budget[0]["limit"]) == ("calls", 9, 30)
        attempt = (await program.get(f"/api/runs/{run}/attempts/g_plan/v2.a1")).json()
        assert attempt["prompt"]["verified"]
        assert attempt["replies"][0]["content"].startswith('{"goal": "The login works"')
        assert (await program.get(f"/api/runs/{run}/export/mermaid")).text.startswith("flowchart TD")
        offer = (await program.get("/api/offer")).json()
        assert "search" in offer["workflows"]
        assert "scripted" not in json.dumps(offer)


async def test_records_are_streamed_and_a_stream_goes_on_where_it_was_cut(tmp_path):
    async with api(tmp_path, hosts=False) as (web, program):
        run = await web.start("plans")
        await web.engine.resume(run)
        last, seen = (await web.engine.journal.row(run)).last_seq, []
        for cursor in ({}, {"last-event-id": f"{run}:{last - 2}"}, {"last-event-id": "other:3"}):
            numbers = []
            headers = {**program.headers, **cursor}
            async with web.client.stream("GET", f"/api/runs/{run}/stream", headers=headers) as response:
                with trio.fail_after(300):
                    async for line in response.aiter_lines():
                        if line.startswith("data: "):
                            numbers.append(json.loads(line[6:])["seq"])
                        if numbers and numbers[-1] == last:
                            break
            seen.append(numbers)
        assert seen == [list(range(1, last + 1)), [last - 1, last], list(range(1, last + 1))]


async def test_a_stream_ends_when_its_token_is_replaced_by_another_of_its_name(tmp_path):
    async with api(tmp_path, hosts=False) as (web, program):
        run = await web.start("plans")

        def replaced(state):
            (name,) = [each for each in state.tokens if each == "control"]
            return access.with_token(access.remove_token(state, name)[0], name, "control", 0.0)

        async with web.client.stream("GET", f"/api/runs/{run}/stream", headers=program.headers) as response:
            web.store.change(replaced)
            await web.engine.post_cancel(run)  # A change, so that the server looks at the stream at once.
            await web.engine.post_cancel(run)
            with trio.fail_after(300):
                async for _ in response.aiter_lines():
                    pass


async def test_a_request_for_a_stream_that_is_refused_takes_no_place(tmp_path):
    async with api(tmp_path, hosts=False) as (web, program):
        run = await web.start("plans")
        for _ in range(STREAMS_MAX + 1):
            assert (await program.get(f"/api/runs/{run}/stream?after=x")).status_code == 422


async def test_a_repeated_request_does_a_thing_once(tmp_path):
    async with api(tmp_path, hosts=False) as (web, program):
        order = {"problem": PROBLEM, "model": "plans"}
        first, second = await program.post("/api/runs", order), await program.post("/api/runs", order)
        assert (first.status_code, second.status_code) == (201, 200)
        assert first.json()["run_id"] == second.json()["run_id"]
        assert (await program.post("/api/runs", {**order, "max_calls": 3})).status_code == 409
        assert (await program.post("/api/runs", order, key="other")).json()["run_id"] != first.json()["run_id"]
        run = first.json()["run_id"]
        told = [(await program.post(f"/api/runs/{run}/messages", {"text": "Use 3.12"})).json() for _ in range(2)]
        assert [each["result"] for each in told] == ["accepted", "duplicate"]
        assert (await program.post(f"/api/runs/{run}/messages", {"text": "Use 3.11"})).status_code == 409
        limits = {"max_calls": 20, "deadline": 3600, "strict": True}
        changed = [(await program.post(f"/api/runs/{run}/limits", limits)).json()["result"] for _ in range(2)]
        assert changed == ["accepted", "duplicate"]
        assert json.loads((await web.engine.journal.inbox(run))[-1].body)["strict"] is True
        cancelled = [(await program.post(f"/api/runs/{run}/cancel")).json()["cancelled"] for _ in range(2)]
        assert cancelled == [True, True]
        await web.engine.resume(run)
        assert (await web.engine.result(run)).outcome == "cancelled"
        again = await program.post(f"/api/runs/{run}/messages", {"text": "Use 3.12"})
        assert again.json()["result"] == "duplicate", "also after the run's end"
        assert (await program.post(f"/api/runs/{run}/messages", {"text": "Use 3.11"})).status_code == 409
        assert (await program.post(f"/api/runs/{run}/limits", limits)).json()["result"] == "duplicate"
        late = await program.post(f"/api/runs/{run}/messages", {"text": "Use 3.12"}, key="another")
        assert "the run has finished" in late.json()["error"]["message"]
        assert len(await web.engine.journal.inbox(run)) == 3


async def test_two_repetitions_at_a_time_start_one_run(tmp_path):
    async with api(tmp_path, hosts=False) as (web, program):
        answers = []

        async def start():
            answers.append(await program.post("/api/runs", {"problem": PROBLEM, "model": "plans"}))

        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(start)
        assert sorted(each.status_code for each in answers) == [200, 200, 200, 201]
        assert len(await web.reader_rows()) == 1


async def test_every_operation_wants_a_token_of_its_scope(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.service.service.LATE_SECONDS", 0)
    async with api(tmp_path, hosts=False) as (web, _):
        await web.sign_in()
        tokens = {"read": {}, "answer": web.token("read"), "control": web.token("answer")}
        for operation, address in addressed_operations():
            path = address.path.format(run="nonesuch", name="q1", node="g/v1.a1", form="json")
            extra = {"json": {}} if address.method == "POST" else {}
            for headers in ({}, {"authorization": "Bearer x"}, {"authorization": f"Basic {web.csrf}"}):
                answer = await web.browser.request(address.method, path, headers=headers, **extra)
                assert answer.status_code in (401, 429)
            answer = await web.client.request(address.method, path, headers=tokens[operation.scope], **extra)
            assert answer.status_code in ((403,) if tokens[operation.scope] else (401, 429))


async def test_a_revoked_token_is_refused_at_once(tmp_path):
    async with api(tmp_path, hosts=False) as (web, program):
        assert (await program.get("/api/runs")).status_code == 200
        web.store.change(lambda state: (state.model_copy(update={"tokens": {}}), None))
        refused = await program.get("/api/runs")
        assert refused.status_code == 401
        assert "or was revoked (`replan token list`" in refused.text


WRONG_BODIES = [
    ("{", "body"),
    ("[]", "body"),
    ("[" * 100_000, "body"),
    ('{"problem": "x", "problem2": 1}', "problem2"),
    ('{"problem": 5}', "problem"),
    ('{"problem": "x", "max_calls": "7"}', "max_calls"),
    ('{"problem": "x", "max_calls": 1e999}', "max_calls"),
    ('{"problem": "x", "max_calls": NaN}', "body"),
    ('{"problem": "x", "max_calls": -1}', "max_calls"),
    ('{"problem": "   "}', ""),
    ('{"problem": "\\ud800"}', "body"),
]


async def test_a_wrong_body_is_refused_with_its_place(tmp_path):
    async with api(tmp_path, hosts=False) as (web, program):
        for body, place in WRONG_BODIES:
            headers = {**program.headers, "content-type": "application/json", "idempotency-key": "k"}
            answer = await web.client.post("/api/runs", content=body, headers=headers)
            assert answer.status_code == 422, answer.text
            error = answer.json()["error"]
            assert error["kind"] == "UsageProblem"
            assert place in error["place"]
            assert not await web.reader_rows()


HEAVY = (
    *(
        b'{"problem":' + b"[" * 100_000,
        b'{"problem":"x","problem":"y"}',
        b'{"problem":"\xff"}',
        b'{"problem":"\\u0000"}',
    ),
    *(b'{"problem": 1e999999999}', b'{"max_calls": 1e400, "problem":"x"}'),
    *(b'{"max_calls": ' + b"9" * 5000 + b', "problem":"x"}', b'{"problem":"x","max_cost_usd":NaN}'),
    b'{"problem":"x","deadline":1e10,"active_time":1e-300,"model":"plans"}',
    *(b'{"problem":"x","workflow":"../../etc/passwd"}', b'{"problem":"x","model":"scripted:/etc/passwd"}'),
    b'{"problem":"x","attachments":[{"name":"../../x","content":"aGk="}]}',
    b'{"problem":"x","attachments":[{"name":"a\\r\\nb\\u202e.txt","content":"aGk="}]}',
    b'{"problem":"' + b"((((((((((a+)+)+)+)+)+)+" * 9000 + b'","model":"template:bug"}',
)


async def test_no_body_is_a_bug_or_much_work(tmp_path):
    async with api(tmp_path, hosts=False) as (web, program):
        for number, body in enumerate(HEAVY):
            headers = {**program.headers, "content-type": "application/json", "idempotency-key": f"k{number}"}
            began = time.process_time()
            answer = await web.client.post("/api/runs", content=body, headers=headers)
            assert answer.status_code in (201, 422), answer.text
            assert time.process_time() - began < 5


BODY_ERRORS = [
    ("/api/runs", {}, "problem: the key is missing (needed: problem)"),
    ("/api/runs", {"problem": "x", "wrkflow": "y"}, "wrkflow: there is no such key (did you mean 'workflow'?)"),
    ("/api/runs", {"problem": ""}, "problem: should not be empty"),
    ("/api/runs", {"problem": 5}, "problem: should be text, not 5"),
    ("/api/runs", {"problem": "x", "max_calls": 0}, "max_calls: should be at least 1, not 0"),
    (
        "/api/runs",
        {"problem": "x", "attachments": [{"name": "a.txt"}]},
        "attachments.0.content: the key is missing (add 'content')",
    ),
    ("/api/runs", [], "body: should be a mapping of keys to values, not []"),
]


async def test_an_error_about_a_body_is_one_line_with_cause_place_and_next_step(tmp_path):
    async with api(tmp_path, hosts=False) as (_, program):
        for path, body, message in BODY_ERRORS:
            answer = await program.post(path, body)
            assert (answer.status_code, answer.json()["error"]["message"]) == (422, message)


async def test_an_error_about_a_run_names_the_addresses_and_keys_of_the_api(tmp_path):
    async with api(tmp_path, hosts=False) as (_, program):
        unknown = (await program.get("/api/runs/nonesuch")).json()["error"]
        assert unknown == {"kind": "RunNotFound", "message": "no run 'nonesuch' (`GET /api/runs` lists the runs)"}
        run = (await program.post("/api/runs", {"problem": PROBLEM, "model": "plans"})).json()["run_id"]
        empty = (await program.post(f"/api/runs/{run}/messages", {"text": " "})).json()["error"]
        assert empty["place"] == "text"


async def test_a_finished_run_cannot_be_cancelled_and_the_error_names_the_part_of_the_address(tmp_path):
    async with api(tmp_path) as (web, program):
        run = (await program.post("/api/runs", {"problem": PROBLEM, "model": "plans"})).json()["run_id"]
        await web.settled(run, "finished")
        answer = await program.post(f"/api/runs/{run}/cancel")
        assert (answer.status_code, answer.json()["error"]) == (
            422,
            {
                "kind": "UsageProblem",
                "message": f"run: run {run} has finished already (success) (`GET /api/runs/{run}` shows its result)",
                "cause": f"run {run} has finished already (success)",
                "place": "run",
                "hint": f"`GET /api/runs/{run}` shows its result",
            },
        )


async def test_a_write_wants_json_and_an_idempotency_key(tmp_path):
    async with api(tmp_path, hosts=False) as (web, program):
        form = await web.client.post("/api/runs", data={"problem": "x"}, headers=program.headers)
        assert form.status_code == 415
        for key in ("", "x" * 101, "a b"):
            answer = await program.post("/api/runs", {"problem": PROBLEM, "model": "plans"}, key=key)
            assert answer.status_code == 422
            assert answer.json()["error"]["place"] == "Idempotency-Key"


async def test_null_for_an_optional_key_is_as_absent(tmp_path):
    async with api(tmp_path, hosts=False) as (_, program):
        nulls = dict.fromkeys(("workflow", "strict", "attachments", "max_calls", "max_cost"))
        started = await program.post("/api/runs", {"problem": PROBLEM, "model": "plans", **nulls})
        assert started.status_code == 201, started.text
        run = started.json()["run_id"]
        told = await program.post(f"/api/runs/{run}/messages", {"text": "Use nuts.", "kind": None}, key="k2")
        assert told.status_code == 200, told.text
        for body in ({"problem": None}, {"problem": PROBLEM, "unknown": None}):
            assert (await program.post("/api/runs", body, key="k3")).status_code == 422


async def test_an_address_that_there_is_not_is_answered_as_json(tmp_path):
    async with api(tmp_path, hosts=False) as (_, program):
        for path in ("/api/nonesuch", "/api/runs/nonesuch", "/api/runs/nonesuch/records", "/api/runs/x/export/json"):
            answer = await program.get(path)
            assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")


def test_the_description_is_whole():
    document = openapi()
    assert document["openapi"] == "3.1.0"
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(each.method, each.path) for _, each in addressed_operations()}
    names = [each["operationId"] for methods in document["paths"].values() for each in methods.values()]
    assert len(names) == len(set(names))
    text = json.dumps(document)
    for reference in set(text.split('"#/components/schemas/')[1:]):
        assert reference.partition('"')[0] in document["components"]["schemas"]
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


async def test_the_status_says_when_nobody_drives_a_run(tmp_path):
    async with api(tmp_path, hosts=False) as (web, program):
        run = await web.start("asks")
        await web.engine.resume(run)
        status = (await program.get(f"/api/runs/{run}")).json()
        assert (status["status"], status["driven"]) == ("waiting", False)
        await program.post(f"/api/questions/{run}/q1", {"answer": "3.12"})
        status = (await program.get(f"/api/runs/{run}")).json()
        assert (status["status"], status["driven"]) == ("parked", False)
    async with served(tmp_path, signed_in=False) as web:
        await web.settled(run, "finished")
        assert (await Program(web, name="other").get(f"/api/runs/{run}")).json()["driven"]


async def test_without_a_host_nobody_goes_on_with_a_parked_run(tmp_path):
    stop = Stop()
    stop.requested.set()
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("plans")
        await web.engine.resume(run, DriveOptions(stop))
        assert (await web.engine.result(run)).status == "parked"
        assert (await Program(web, name="first").post(f"/api/runs/{run}/resume")).status_code == 409


async def test_a_run_near_a_limit_is_marked_in_the_list_of_runs_and_on_the_page(tmp_path):
    async with served(tmp_path) as web:
        run = await web.start("plans", limits={"max_calls": 3, "at_limit": "ask"})
        await web.settled(run, "waiting")
        (row,) = (await Program(web).get("/api/runs")).json()["runs"]
        assert row["limit_near"] == {"limit": "calls", "percent": 80}
        assert "80 % of calls" in (await web.browser.get("/runs")).text
        assert "100 % of 3 calls are used" in (await web.browser.get(f"/runs/{run}?tab=timeline")).text
