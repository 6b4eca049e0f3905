"""Traces are read in each form that is documented, and what cannot be read is an error of one line."""

import json
import time

import pytest

from replan.blame.attribution import VALUES_MAX
from replan.blame.messages import NAME_MAX
from replan.blame.trace_reader import STEPS_MAX, read_weights, traces_in
from replan.cli.trace_files import files_in, read_trace_file
from runtime.core.errors import UsageProblem
from tests.blame.samples import drawn, log_of, said, span


def read(value):
    (trace,) = traces_in(json.dumps(value), "trace.json")
    return trace


def kinds(trace):
    return [(step.agent, step.kind) for step in trace.steps]


def test_a_log_of_who_and_when_has_its_mark_its_agents_and_their_thoughts():
    log = {
        "question_ID": "q7",
        "mistake_step": "3",
        "mistake_agent": "WebSurfer",
        "history": [
            {"role": "human", "content": "How many?"},
            {"role": "Orchestrator (thought)", "content": "Ask the surfer."},
            {"role": "Orchestrator (-> WebSurfer)", "content": "Look it up."},
            {"role": "WebSurfer", "content": "I assume 3."},
            {"role": "ComputerTerminal", "content": "exitcode: 1 (execution failed)"},
        ],
    }
    trace = read(log)
    assert (trace.question, trace.mistake, trace.agent) == ("q7", 3, "WebSurfer")
    assert kinds(trace) == [
        ("human", "user"),
        ("Orchestrator", "thought"),
        ("Orchestrator", "handover"),
        ("WebSurfer", "agent"),
        ("ComputerTerminal", "tool"),
    ]


def test_a_name_says_more_than_a_role():
    """AG2 gives all messages but those of one agent the role `user`."""
    named = [
        {"role": "user", "name": "Checker", "content": "Yes."},
        {"role": "user", "name": "Computer_terminal", "content": "exitcode: 0"},
        {"role": "user", "content": "Go on."},
    ]
    assert kinds(read({"history": named})) == [("Checker", "agent"), ("Computer_terminal", "tool"), ("user", "user")]


@pytest.mark.parametrize("mark", ["9", 3, -1, "one", True, 3.0, [1], "x" * 1000])
def test_a_mark_that_names_no_step_is_an_error_with_its_place(mark):
    row = {"history": [{"role": "user", "content": "a"}] * 3, "mistake_step": mark}
    rows = [{**row, "mistake_step": "2"}, row]
    with pytest.raises(UsageProblem, match=r"^x\.jsonl:2: mistake_step .* is no step of a trace of 3 steps") as caught:
        traces_in("\n".join(map(json.dumps, rows)), "x.jsonl")
    assert str(caught.value).endswith("(number steps from 0)")
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize(("mark", "mistake"), [(None, None), ("", None), (0, 0), ("2", 2)])
def test_a_mark_is_a_number_from_0_or_missing(mark, mistake):
    assert read({"history": [{"role": "user", "content": "a"}] * 3, "mistake_step": mark}).mistake == mistake


def test_long_names_are_cut_and_take_no_time_to_read():
    """A search for a note in brackets that starts at each bracket took 8 seconds for one of these names."""
    name = "(" * 40_000
    messages = [{"role": name, "content": "a"}, {"name": name, "content": "b"}, {"source": " " * 40_000, "content": ""}]
    begin = time.process_time()
    trace = read({"history": messages, "mistake_step": 1, "mistake_agent": f"WebSurfer{name}"})
    assert time.process_time() - begin < 1
    assert [step.agent for step in trace.steps[:2]] == [name[:NAME_MAX]] * 2
    assert len(trace.agent) == NAME_MAX


@pytest.mark.parametrize(
    ("name", "agent", "kind"),
    [
        ("Orchestrator (-> a (b))", "Orchestrator", "handover"),
        ("Orchestrator(thought) ", "Orchestrator", "thought"),
        ("(thought)", "(thought)", "agent"),
        ("Orchestrator (thought", "Orchestrator (thought", "agent"),
    ],
)
def test_a_note_in_brackets_after_a_name_says_what_kind_a_step_is(name, agent, kind):
    assert kinds(read({"history": [{"role": name, "content": "a"}]})) == [(agent, kind)]


def test_a_state_of_langgraph_is_read_with_its_calls_and_failures():
    messages = [
        {"type": "human", "content": "How many?"},
        {
            "type": "ai",
            "name": "planner",
            "content": [{"type": "text", "text": "I look."}],
            "tool_calls": [{"name": "find"}],
        },
        {"type": "tool", "name": "find", "status": "error", "content": "nothing"},
        {"type": "ai", "content": "3"},
    ]
    for state in (
        {"messages": messages},
        {"values": {"messages": messages}},
        {"channel_values": {"messages": messages}},
    ):
        trace = read(state)
        assert trace.format == "LangGraph messages"
        assert kinds(trace) == [("human", "user"), ("planner", "agent"), ("find", "tool"), ("assistant", "agent")]
        assert trace.steps[1].calls_tool
        assert trace.steps[1].text.startswith("I look.")
        assert trace.steps[2].failed
        assert not trace.steps[3].failed


def test_messages_that_langchain_has_serialised_are_read():
    def serialised(name, **fields):
        return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": fields}

    trace = read({"messages": [serialised("HumanMessage", content="Go."), serialised("AIMessage", content="Done.")]})
    assert [step.kind for step in trace.steps] == ["user", "agent"]
    assert [step.text for step in trace.steps] == ["Go.", "Done."]


def test_an_export_of_autogen_is_read():
    messages = [
        {"source": "user", "type": "TextMessage", "content": "How many?"},
        {"source": "solver", "type": "ToolCallRequestEvent", "content": [{"name": "count", "arguments": "{}"}]},
        {"source": "solver", "type": "ToolCallExecutionEvent", "content": [{"content": "no file", "is_error": True}]},
        {"source": "solver", "type": "ThoughtEvent", "content": "Odd."},
        {"source": "solver", "type": "HandoffMessage", "content": "Over to you.", "target": "checker"},
        {"source": "checker", "type": "TextMessage", "content": "3"},
    ]
    trace = read({"messages": messages, "stop_reason": "done"})
    assert trace.format == "AutoGen messages"
    assert [step.kind for step in trace.steps] == ["user", "agent", "tool", "thought", "handover", "agent"]
    assert trace.steps[1].calls_tool
    assert trace.steps[2].failed
    assert trace.steps[2].text == "no file"


def spans():
    """Return the spans of a trace, not in the order of their beginnings."""
    return [
        span(
            "tool",
            30,
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"},
            parent="agent",
            error=True,
        ),
        span("http", 15, {"http.method": "GET"}, parent="chat1"),
        span("agent", 5, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "solver"}),
        span(
            "chat1",
            10,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": said("How many?", "user"),
                "gen_ai.output.messages": said("I look.", type="tool_call"),
            },
            parent="agent",
        ),
        span("chat2", 40, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m1"}),
    ]


def test_spans_of_otlp_are_steps_by_their_beginnings_and_of_the_agent_around_them():
    value = {"resourceSpans": [{"scopeSpans": [{"spans": spans()}]}]}
    trace = read(value)
    assert (trace.format, trace.name) == ("OpenTelemetry spans", "t1")
    assert kinds(trace) == [("user", "user"), ("solver", "agent"), ("find", "tool"), ("m1", "agent")]
    assert trace.steps[0].text == "How many?"
    assert trace.steps[1].text == "I look."
    assert trace.steps[1].calls_tool
    assert trace.steps[2].failed


def test_spans_on_several_lines_are_put_together_by_their_trace():
    rows = [{"resourceSpans": [{"scopeSpans": [{"spans": [each]}]}]} for each in spans()]
    other = span("x", 1, {"gen_ai.operation.name": "chat", "gen_ai.output.messages": said("Hello.")}, trace="t2")
    rows.append({"resourceSpans": [{"scopeSpans": [{"spans": [other]}]}]})
    first, second = traces_in("\n".join(map(json.dumps, rows)), "spans.jsonl")
    assert (first.name, len(first.steps), second.name, len(second.steps)) == ("t1", 4, "t2", 1)


def test_an_operation_that_is_a_list_is_none_that_is_read():
    odd = span("odd", 1, {"gen_ai.operation.name": "chat"})
    odd["attributes"][0]["value"] = {"arrayValue": {"values": [{"stringValue": "chat"}]}}
    trace = read({"resourceSpans": [{"scopeSpans": [{"spans": [odd, *spans()]}]}]})
    assert kinds(trace) == [("user", "user"), ("solver", "agent"), ("find", "tool"), ("m1", "agent")]


@pytest.mark.parametrize("text", ["[" * 200_000, '[{"role": "assist'])
def test_recorded_messages_that_are_no_json_are_their_text(text):
    chat = span("chat", 1, {"gen_ai.operation.name": "chat", "gen_ai.output.messages": text})
    assert [step.text for step in read({"resourceSpans": [{"scopeSpans": [{"spans": [chat]}]}]}).steps] == [text]


def test_content_is_read_or_nested_too_deeply_at_every_depth():
    outcomes = set()
    for depth in range(500, 1000, 5):
        try:
            traces_in(f'{{"messages": [{{"role": "user", "content": {"[" * depth + "]" * depth}}}]}}', "x.json")
            outcomes.add("read")
        except UsageProblem as problem:
            outcomes.add(problem.cause)
    assert outcomes == {"read", "nested too deeply"}


def test_spans_of_the_console_are_read():
    value = [
        {
            "name": each["name"],
            "context": {"trace_id": "0x1", "span_id": each["spanId"]},
            "parent_id": each["parentSpanId"],
            "start_time": f"2026-01-01T00:00:{int(each['startTimeUnixNano'][-2:]):02}.0Z",
            "status": {"status_code": "ERROR" if each["status"] else "UNSET"},
            "attributes": {part["key"]: part["value"]["stringValue"] for part in each["attributes"]},
        }
        for each in spans()
    ]
    trace = read(value)
    assert kinds(trace) == [("user", "user"), ("solver", "agent"), ("find", "tool"), ("m1", "agent")]
    assert trace.steps[2].failed


def test_many_traces_are_a_list_or_lines():
    logs = [log_of(trace) for trace in drawn(3)]
    lines = "\n".join(map(json.dumps, logs))
    assert [trace.mistake for trace in traces_in(lines, "x.jsonl")] == [int(log["mistake_step"]) for log in logs]
    assert len(traces_in(json.dumps(logs), "x.json")) == 3


def test_each_row_or_item_without_a_trace_is_an_error_with_its_place():
    log, traced = log_of(drawn(1)[0]), {"resourceSpans": [{"scopeSpans": [{"spans": spans()}]}]}
    for values, number in (
        ([log, {"foo": 1}, log], 2),
        ([{"foo": 1}, log], 1),
        ([log, {"messages": []}], 2),
        ([traced, {"foo": 1}], 2),
        ([traced, traced, log], 3),
        ([log, traced], 1),
    ):
        for text, place in (
            ("\n".join(map(json.dumps, values)), f"x.json:{number}"),
            (json.dumps(values), f"x.json, item {number}"),
        ):
            with pytest.raises(UsageProblem, match="holds no trace that can be read") as caught:
                traces_in(text, "x.json")
            assert caught.value.place == place


def test_a_separator_of_lines_inside_a_text_does_not_end_a_row():
    rows = [{"messages": [{"role": "user", "content": f"a{mark}b"}]} for mark in ("\u2028", "\x85")]
    found = traces_in("\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "x.jsonl")
    assert [trace.steps[0].text for trace in found] == ["a\u2028b", "a\x85b"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("{", "x.json:1: this is no JSON"),
        ('{"a": 1}\n{"b": }', "x.json:2: this is no JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("3", "holds no trace"),
        ("[]", "holds no trace"),
        ('{"messages": []}', "holds no trace"),
        ('{"messages": [1, 2]}', "holds no trace"),
        ('{"resourceSpans": [{"scopeSpans": 3}]}', "holds no trace"),
        ('{"plan_id": "p", "steps": []}', "holds no trace"),
        (json.dumps([{"role": "user", "content": ""}] * (STEPS_MAX + 1)), "a trace of 10,001 steps"),
    ],
)
def test_what_holds_no_trace_is_an_error_of_one_line(text, cause):
    with pytest.raises(UsageProblem, match=cause) as caught:
        traces_in(text, "x.json")
    assert "\n" not in str(caught.value)


def test_a_folder_is_its_files_of_json_and_an_empty_one_is_an_error(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("b.json", "a/c.jsonl", "d.txt"):
        (tmp_path / name).write_text("{}")
    assert [path.name for path in files_in(tmp_path)] == ["c.jsonl", "b.json"]
    with pytest.raises(UsageProblem, match="no such file"):
        read_trace_file(tmp_path / "missing.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageProblem, match="not UTF-8"):
        read_trace_file(tmp_path / "binary.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageProblem, match=r"holds no \.json"):
        files_in(tmp_path / "empty")


def test_weights_of_an_unknown_feature_are_refused_with_its_line(tmp_path):
    path = tmp_path / "weights.yaml"
    path.write_text("name: mine\ntraces: 3\nweights:\n  lenght: {yes: 1.0}\n")
    with pytest.raises(UsageProblem, match="unknown feature 'lenght'") as caught:
        read_weights(path)
    assert "weights.yaml:4" in str(caught.value)


@pytest.mark.parametrize("weight", ["51", "-51"])
def test_weights_that_are_too_large_are_refused_with_their_line(tmp_path, weight):
    path = tmp_path / "weights.yaml"
    path.write_text(f"name: mine\ntraces: 3\nweights:\n  length:\n    0 to 99: {weight}\n")
    with pytest.raises(UsageProblem, match="from -50 to 50") as caught:
        read_weights(path)
    assert "weights.yaml:5" in str(caught.value)


def test_more_values_of_a_feature_than_the_limit_are_refused(tmp_path):
    path = tmp_path / "weights.yaml"
    values = "".join(f"    v{number}: 1\n" for number in range(VALUES_MAX + 1))
    path.write_text(f"name: mine\ntraces: 3\nweights:\n  length:\n{values}")
    with pytest.raises(UsageProblem, match=r"51 values .*at most 50"):
        read_weights(path)
