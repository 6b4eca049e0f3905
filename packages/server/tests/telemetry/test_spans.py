"""The fold of records into spans, over the runs of a home: pure, prefix-stable, whole."""

import os

import pytest
import trio
from click.testing import CliRunner

from replan.cli.app import app
from replan.runs.home import open_home
from replan_server.telemetry.conventions import model_label, provider_label
from replan_server.telemetry.metrics import measures_of
from replan_server.telemetry.spans import Trace, spans_of
from runtime.core.names import span_id, trace_id
from runtime.journal.port import RunFilter
from tests.cli.samples import ANALYSIS, ASKING, PLAN, PROBLEM, write_script

COMMANDS = (
    ["run", "problem.md", "-m", "template:bug", "--no-input"],
    ["run", "problem.md", "-m", "failing.json", "-w", "option_a"],
    ["run", "problem.md", "-m", "asking.json", "-w", "option_a"],
    ["run", "problem.md", "-m", "asking.json", "-w", "option_a", "--max-calls", "1"],
    ["execute", "--example", "repair"],
    ["execute", "--example", "detour"],
)
"""Runs of two kinds that succeed, fail, wait, are short of calls, and have a plan made anew."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The kind and the records of each run of a home."""
    folder = tmp_path_factory.mktemp("home")
    home = folder / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / "problem.md").write_text(PROBLEM, encoding="utf-8")
        scripts = {
            "asking.json": write_script(folder, {"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]}, "asking"),
            "failing.json": write_script(folder, {"g_analysis": [ANALYSIS], "g_plan": ["no JSON"] * 9}, "failing"),
        }
        for command in COMMANDS:
            words = [scripts.get(word, word) for word in command]
            CliRunner().invoke(app, words, env={"REPLAN_HOME": str(home)})

    async def read():
        found = {}
        async with open_home(environment={**os.environ, "REPLAN_HOME": str(home)}) as engine:
            for row in await engine.journal.runs(RunFilter(limit=10_000)):
                found[row.run] = await engine.read(row.run)
        return found

    found = trio.run(read)
    assert len(found) == len(COMMANDS) + 1, "one run makes a plan for another"
    return found


def test_spans_are_whole_trees_with_ids_from_the_journal_alone(runs):
    for run, loaded in runs.items():
        spans = spans_of(loaded.kind, loaded.records)
        ids = {span.id for span in spans}
        assert len(ids) == len(spans), "two spans with one id"
        assert {span.trace for span in spans} <= {trace_id(run)}
        if loaded.finished:
            (root,) = [span for span in spans if span.parent is None]
            assert root.id == span_id(run, 1)
            assert all(span.parent in ids for span in spans if span is not root)
        for span in spans:
            assert span.start <= span.end


def test_a_span_never_changes_once_it_is_complete(runs):
    """What was exported early is the same as what a later exporter makes of more records."""
    for loaded in runs.values():
        whole = spans_of(loaded.kind, loaded.records)
        trace, seen = Trace(loaded.kind, loaded.records[0].run), []
        for record in loaded.records:
            seen += trace.take(record)
            assert seen == whole[: len(seen)]
        assert seen == whole == spans_of(loaded.kind, loaded.records)


def test_every_call_and_every_question_has_its_span(runs):
    for loaded in runs.values():
        if not loaded.finished:
            continue
        spans = spans_of(loaded.kind, loaded.records)
        replied = [each.event.request_id for each in loaded.records if hasattr(each.event, "content")]
        told = [span.attributes.get("replan.request_id") for span in spans]
        assert all(told.count(name) == 1 for name in replied)
        asked = sum(each.event.kind == "clarification_requested" for each in loaded.records)
        assert sum(span.name == "ask_person" for span in spans) == asked


def test_texts_of_models_and_users_are_only_in_spans_with_content(runs):
    with_content = 0
    for loaded in runs.values():
        texts = {each.event.content for each in loaded.records if hasattr(each.event, "content")}
        texts = {text for text in texts if len(text) > 40}
        plain = [str(value) for span in spans_of(loaded.kind, loaded.records) for value in span.attributes.values()]
        assert not any(text[:40] in value for text in texts for value in plain)
        full = spans_of(loaded.kind, loaded.records, content=True)
        with_content += sum("gen_ai.output.messages" in span.attributes for span in full)
        assert [span.id for span in full] == [span.id for span in spans_of(loaded.kind, loaded.records)]
    assert with_content > 5


def test_a_span_of_a_call_that_another_run_answers_has_no_messages(runs):
    """A replan's call has no prompt of its own: recording its content failed."""
    links = 0
    for loaded in runs.values():
        for span in spans_of(loaded.kind, loaded.records, content=True):
            if any(link.relation == "child" for link in span.links):
                links += 1
                assert "gen_ai.input.messages" not in span.attributes
    assert links > 0


def test_what_is_counted_of_a_run_is_what_its_ledger_has_spent(runs):
    for run, loaded in runs.items():
        trace, calls, tokens = Trace(loaded.kind, run), 0.0, 0.0
        for record in loaded.records:
            trace.take(record)
            for each in measures_of(loaded.kind, record):
                replied = each.attributes.get("replan.outcome") in ("replied", "late")
                calls += each.value if each.instrument == "replan.calls" and replied else 0
                tokens += each.value if each.instrument == "replan.tokens" else 0
        spent = loaded.kind.run_state(loaded.state).ledger.spent
        assert (calls, tokens) == (spent.calls, spent.tokens), run


@pytest.mark.parametrize(
    ("model", "label", "provider"),
    [
        ("gpt-5", "gpt-5", "openai"),
        ("anthropic:claude-sonnet-5", "claude-sonnet-5", "anthropic"),
        ("openai-responses:gpt-6", "gpt-6", "openai"),
        ("bedrock:openai.gpt-oss-120b-1:0", "openai.gpt-oss-120b-1:0", "aws.bedrock"),
        ("ollama:qwen3:8b", "qwen3:8b", "ollama"),
        ("scripted:/home/me/replies.yaml", "scripted", "replan"),
    ],
)
def test_a_span_names_the_provider_and_the_model_as_the_provider_knows_it(model, label, provider):
    assert (model_label(model), provider_label(model)) == (label, provider)


def test_a_warning_about_a_limit_is_a_span_without_length(runs):
    found = [
        (loaded, span)
        for loaded in runs.values()
        for span in spans_of(loaded.kind, loaded.records)
        if span.name == "limit_near"
    ]
    assert found
    for loaded, span in found:
        event = loaded.records[span.attributes["replan.seq"] - 1].event
        assert span.start == span.end
        told = {name: span.attributes[f"replan.{name}"] for name in ("limit", "percent", "used", "most")}
        assert told == {"limit": event.limit, "percent": event.percent, "used": event.used, "most": event.most}
