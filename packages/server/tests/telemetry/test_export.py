"""A real process exports to a real collector: whole trees, at least once, also over a kill and a resume."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

from packages.server.tests.telemetry.conftest import KEY, ROOT, SCRIPT
from packages.server.tests.telemetry.trees import check_whole, repeated, shape, unique
from runtime.core.names import span_id, trace_id
from tests.cli.samples import ANALYSIS as CLI_ANALYSIS
from tests.cli.samples import PLAN, RECON, STRATEGY, write_script
from tests.cli.samples import PROBLEM as LOGIN_FAILS
from tests.journal.behind import change
from tests.long.cli.test_execution_story import ACTIONS, TOOLS, step
from tests.support.answers import by_step
from tests.support.artifacts import ANALYSIS, PROBLEM
from tests.support.collector import attributes, spans_in
from tests.support.openai_server import serve

TREE = [
    [
        "invoke_agent planning",
        ["attempt g_analysis", ["chat test-model"], ["check analysis_valid"]],
        ["attempt g_recon", ["chat test-model"], ["check all_of"]],
        ["attempt g_strategy", ["chat test-model"], ["check all_of"]],
        ["plan planning", ["chat test-model"], ["check all_of"], ["decide local_retry"]],
        ["plan planning", ["chat test-model"], ["check all_of"], ["decide full_replan"]],
        ["revise full_replan"],
        ["attempt g_analysis", ["chat test-model"], ["check analysis_valid"]],
        ["attempt g_recon", ["chat test-model"], ["check all_of"]],
        ["attempt g_strategy", ["chat test-model"], ["check all_of"]],
        ["plan planning", ["chat test-model"], ["check all_of"]],
    ]
]


def test_a_run_is_one_tree_with_its_attempts_checks_and_decisions(case):
    code, result, _ = case.replan(*case.run_command)
    assert code == 0
    (root,) = check_whole(case.collector.spans).values()
    assert shape(case.collector.spans) == TREE
    assert repeated(case.collector.spans) == 0
    assert int.from_bytes(root.trace_id) == trace_id(result["run_id"])
    assert int.from_bytes(root.span_id) == span_id(result["run_id"], 1)
    about = attributes(root)
    assert (about["gen_ai.conversation.id"], about["replan.outcome"]) == (result["run_id"], "success")
    assert about["replan.calls"] == result["calls"] == 9
    chat = next(span for span in case.collector.spans if span.name == "chat test-model")
    told = attributes(chat)
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.provider.name"] == "openai"
    assert told["gen_ai.usage.input_tokens"] > 0
    assert told["gen_ai.response.finish_reasons"] == ["stop"]
    (decision,) = [span for span in case.collector.spans if span.name == "decide full_replan"]
    assert attributes(decision)["replan.rule"]
    assert attributes(decision)["replan.code"] == "plan.precondition_unsatisfied"


def test_a_run_that_is_killed_and_resumed_is_one_whole_tree_and_repetitions_are_the_same(case):
    """The collector kills the process when it has received spans and before it answers: they are sent again."""
    answers, killed = by_step(SCRIPT), threading.Event()

    def held(body, headers, number):
        if "g_strategy/v2" in headers["x-client-request-id"]:
            killed.wait(60)
        return answers(body, headers, number)

    with serve(held) as server:
        case.server = server
        process = case.start(*case.run_command)

        def kill(handler):
            os.kill(process.pid, signal.SIGKILL)
            killed.set()
            handler.close_connection = True

        def behave(number):
            names = [span.name for span in spans_in(case.collector.offered[number - 1 :])]
            return kill if "revise full_replan" in names and not killed.is_set() else 200

        case.collector.behave = behave
        process.communicate(timeout=300)
        assert process.returncode == -signal.SIGKILL
        code, result, _ = case.replan("resume", "--last", "--json")
    assert (code, result["status"]) == (0, "finished")
    offered = spans_in(case.collector.offered)
    assert repeated(offered) > 0
    check_whole(offered)
    (root,) = check_whole(case.collector.spans).values()
    assert unique(offered).keys() == unique(case.collector.spans).keys()
    names = [span.name for span in unique(offered).values()]
    assert names.count("resume") == 1
    interrupted = [span for span in unique(offered).values() if attributes(span).get("error.type") == "interrupted"]
    assert all(span.name == "chat test-model" for span in interrupted)
    assert names.count("decide full_replan") == names.count("revise full_replan") == 1
    assert attributes(root)["replan.outcome"] == "success"
    # All of it once more, by a command: the same, byte for byte, with the resource.
    first = {group.resource.SerializeToString() for each in case.collector.traces for group in each.resource_spans}
    before = len(unique(offered))
    code, _, err = case.replan("telemetry", result["run_id"])
    assert (code, err) == (0, f"replan: {before} spans sent\n")
    assert len(unique(case.collector.spans)) == before
    again = {group.resource.SerializeToString() for each in case.collector.traces for group in each.resource_spans}
    assert again == first


def test_a_run_that_waits_gives_its_finished_spans_early_and_its_root_at_the_end(case):
    asks = {**ANALYSIS, "open_questions": ["Which?"]}
    with serve(by_step({**SCRIPT, "g_analysis": [asks, ANALYSIS, ANALYSIS]})) as server:
        case.server = server
        code, result, _ = case.replan(*case.run_command, "--no-input")
        assert code == 6
        early = {span.name for span in case.collector.spans}
        assert "attempt g_recon" in early
        assert not {"invoke_agent planning", "ask_person"} & early
        question = result["question"]["id"]
        assert case.replan("answer", question, "The second one")[0] == 0
        code, _, _ = case.replan("resume", "--last", "--json")
    assert code == 0
    check_whole(case.collector.spans)
    (asked,) = [span for span in case.collector.spans if span.name == "ask_person"]
    assert attributes(asked)["replan.outcome"] == "answered"


def test_nothing_is_exported_and_nothing_imported_unless_the_variables_say_so(case, tmp_path):
    code = """
import json, os, sys
from replan.cli import main
command, *variables = json.loads(sys.argv[1])
for more in variables:
    os.environ |= more
    try:
        main(command)
    except SystemExit as end:
        assert end.code == 0
    assert not [name for name in sys.modules if name.startswith("opentelemetry")], more
    for name in more:
        del os.environ[name]
"""
    variables = (
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_SDK_DISABLED": "true"},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
    )
    command = ["run", str(problem_of(tmp_path)), "-m", "template:bug", "--json"]
    call = [sys.executable, "-c", code, json.dumps([command, *variables])]
    environment = {**case.environment, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"outcome": "success"') == len(variables)
    assert (case.collector.offered, case.collector.metrics) == ([], [])


def test_prompts_and_replies_are_exported_only_where_the_user_opted_in_and_secrets_never(case):
    """The model quotes two secrets that the process knows: its own key, and the collector's."""
    secret = "collectors-secret-9876543210"
    rationale = f"The keys are {KEY} and {secret}."
    headers = {"OTEL_EXPORTER_OTLP_HEADERS": f"x-api-key={secret}"}
    with serve(by_step({**SCRIPT, "g_analysis": [{**ANALYSIS, "rationale": rationale}] * 2})) as server:
        case.server, case.more = server, headers
        assert case.replan(*case.run_command)[0] == 0
        assert case.collector.headers[-1]["x-api-key"] == secret
        sent = b"".join(request.SerializeToString() for request in case.collector.traces)
        for text in ("TimeoutError", "Login times out", "Locate and fix", "The call is"):
            assert text.encode() not in sent
        case.collector.traces.clear()
        case.more = {**headers, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
        run = case.replan("runs", "--json")[1]["runs"][0]["run_id"]
        assert case.replan("telemetry", run)[0] == 0
    sent = b"".join(request.SerializeToString() for request in case.collector.traces)
    assert b"TimeoutError" in sent
    assert b"[redacted]" in sent
    assert KEY.encode() not in sent
    assert secret.encode() not in sent
    assert secret not in (case.folder / "home" / "log.jsonl").read_text()
    chats = [attributes(span) for span in case.collector.spans if span.name == "chat test-model"]
    assert all(
        '"role": "user"' in chat["gen_ai.input.messages"] and '"finish_reason"' in chat["gen_ai.output.messages"]
        for chat in chats
    )


def test_a_model_server_gets_no_trace_context(case):
    case.more = {"TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    assert case.replan(*case.run_command)[0] == 0
    assert len(case.server.seen) == 9
    for seen in case.server.seen:
        assert not {"traceparent", "tracestate", "baggage"} & {name.lower() for name in seen.headers}


def test_log_lines_about_a_run_have_the_ids_of_its_trace(case):
    _, result, _ = case.replan(*case.run_command)
    run = result["run_id"]
    lines = (case.folder / "home" / "log.jsonl").read_text().splitlines()
    about = [line for line in lines if f'"run_id": "{run}"' in line]
    assert about
    assert all(f'"trace_id": "{trace_id(run):032x}"' in line for line in about)
    assert all(f'"span_id": "{span_id(run, 1):016x}"' in line for line in about)
    case.more = {"OTEL_TRACES_EXPORTER": "none"}
    case.replan(*case.run_command)
    added = (case.folder / "home" / "log.jsonl").read_text().splitlines()[len(lines) :]
    assert added
    assert not any("trace_id" in line for line in added)


def test_a_host_exports_the_runs_that_it_drives_and_only_one_process_does(case):
    case.more = {"OTEL_METRICS_EXPORTER": "none"}
    host = case.start("host", "--json")
    try:
        assert '"ready"' in host.stdout.readline()
        code, _, _ = case.replan(*case.run_command, "--detach")
        assert code == 0
        until = time.monotonic() + 30
        while not any(span.name == "invoke_agent planning" for span in case.collector.spans):
            assert time.monotonic() < until
            case.collector.came.wait(1)
            case.collector.came.clear()
        code, _, err = case.replan("telemetry")
        assert code == 8
        assert "another process is exporting" in err
    finally:
        host.send_signal(signal.SIGTERM)
        host.communicate(timeout=300)
    (name, *below), *others = shape(case.collector.spans)
    assert [[name, *below[1:]], *others] == TREE
    assert below[0] == ["resume"]
    assert repeated(case.collector.spans) == 0


def test_an_execution_has_spans_for_its_tools_and_a_link_to_the_planning_run(case):
    case.more = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
    code, result, _ = case.replan("execute", "--example", "detour", "--json")
    assert code == 0
    roots = check_whole(case.collector.spans)
    by_run = {attributes(root)["replan.run"]: root for root in roots.values()}
    execution = by_run[result["run_id"]]
    names = {span.name for span in case.collector.spans if span.trace_id == execution.trace_id}
    assert execution.name == "invoke_agent execution"
    assert any(name.startswith("execute_tool ") for name in names)
    (asked,) = [span for span in case.collector.spans if span.name == "invoke_agent replan" and span.links]
    (link,) = asked.links
    child = by_run[attributes(link)["replan.run"]]
    assert (link.trace_id, link.span_id) == (child.trace_id, child.span_id)
    assert attributes(link)["replan.relation"] == "child"
    (back,) = child.links
    assert (back.trace_id, back.span_id) == (execution.trace_id, execution.span_id)


def test_the_execution_of_a_made_plan_has_a_link_to_the_run_that_has_made_it(case):
    made = {**PLAN, "steps": [step("one", "make_a", ["fixed"], preconditions=["bug"])]}
    script = {"g_analysis": [CLI_ANALYSIS], "g_recon": [RECON], "g_strategy": [STRATEGY], "g_plan": [made]}
    model = str(write_script(case.folder, script, "plans.yaml"))
    (case.folder / "login.md").write_text(LOGIN_FAILS)
    code, planned, _ = case.replan("run", str(case.folder / "login.md"), "-m", model, "--json")
    assert code == 0
    *arguments, workspace = "--tools", str(case.folder / "tools.yaml"), "--workspace", case.folder / "work"
    (case.folder / "tools.yaml").write_text(TOOLS)
    (case.folder / "actions.py").write_text(ACTIONS)
    workspace.mkdir()
    _, executed, err = case.replan("execute", planned["run_id"], *arguments, str(workspace), "-m", model, "--json")
    assert isinstance(executed, dict), err
    by_run = {attributes(root)["replan.run"]: root for root in check_whole(case.collector.spans).values()}
    (link,) = by_run[executed["run_id"]].links
    source = by_run[planned["run_id"]]
    assert (link.trace_id, link.span_id) == (source.trace_id, source.span_id)
    assert attributes(link)["replan.relation"] == "made_from"


def problem_of(folder):
    path = folder / "problem.md"
    path.write_text(PROBLEM)
    return path


def test_what_a_run_does_after_its_end_was_undone_is_below_its_root(case):
    code, _, _ = case.replan(*case.run_command, "--max-calls", "4")
    assert code == 5
    (first,) = check_whole(case.collector.spans).values()
    code, _, _ = case.replan("resume", "--last", "--max-calls", "20", "--json")
    assert code == 0
    (root,) = check_whole(case.collector.spans).values()
    assert root == first
    assert repeated(case.collector.spans) == 0
    assert attributes(root)["replan.outcome"] == "budget_exhausted"
    (again,) = [span for span in case.collector.spans if span.name == "invoke_agent planning again"]
    assert again.parent_span_id == root.span_id
    assert attributes(again)["replan.outcome"] == "success"
    below = {span.name for span in case.collector.spans if span.parent_span_id == again.span_id}
    assert {"attempt g_strategy", "plan planning", "resume"} & below


def test_a_run_in_a_newer_format_holds_up_no_spans_of_other_runs(case):
    exported = case.replan(*case.run_command)[1]["run_id"]
    case.more["OTEL_SDK_DISABLED"] = "true"
    newer, ours = (case.replan(*case.run_command)[1]["run_id"] for _ in range(2))
    change(case.folder / "home" / "journal.sqlite3", "UPDATE runs SET format = format + 1 WHERE run = ?", newer)
    del case.more["OTEL_SDK_DISABLED"]
    assert case.replan("telemetry")[0] == 0
    traces = {int.from_bytes(trace) for trace in check_whole(case.collector.spans)}
    assert traces == {trace_id(run) for run in (exported, ours)}
