"""The commands `blame` and `tune blame`: their output, the file that is written, and their errors."""

import json
import re

import pytest
import yaml

from replan.blame.trace_reader import shipped_weights
from tests.blame.samples import TRUE, drawn, log_of

GUESSED = """The service cannot be reached. I assume that the open invoices are those of last month: 120.00,
80.50 and 199.50. Their sum is 400.00, so I take 15 % of it:

```python
print(0.15 * (120.00 + 80.50 + 199.50))
```"""
MESSAGES = [
    {"type": "human", "content": "What is 15 % of the sum of the open invoices of customer 4711?"},
    {"type": "ai", "name": "planner", "content": "First fetch the open invoices, then add them and take 15 %."},
    {"type": "ai", "name": "accountant", "content": "I fetch them.", "tool_calls": [{"name": "open_invoices"}]},
    {"type": "tool", "name": "open_invoices", "status": "error", "content": "Error: the service timed out"},
    {"type": "ai", "name": "accountant", "content": GUESSED},
    {"type": "tool", "name": "python", "content": "60.0"},
    {"type": "ai", "name": "checker", "content": "The program has printed 60.0. I have verified the sum."},
    {"type": "ai", "name": "planner", "content": "Final answer: 60.00"},
]


@pytest.fixture
def state(tmp_path):
    """A file with a state of LangGraph."""
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"thread_id": "refund-17", "values": {"messages": MESSAGES}}))
    return path


@pytest.fixture
def logs(tmp_path):
    """A folder with 200 labelled logs, whose mistakes are drawn with the opposite of what is shipped."""
    folder = tmp_path / "logs"
    folder.mkdir()
    shipped = shipped_weights()
    opposite = shipped.model_copy(
        update={
            "weights": {
                name: {word: -2 * weight for word, weight in words.items()} for name, words in shipped.weights.items()
            }
        }
    )
    for number, trace in enumerate(drawn(200, weights=opposite)):
        (folder / f"{number}.json").write_text(json.dumps(log_of(trace)))
    return folder


def test_a_trace_is_blamed_step_by_step_with_evidence_and_a_place_to_go_back_to(replan, state):
    result = replan("blame", state)
    assert result.exit_code == 0
    first, step, *_ = result.stdout.splitlines()
    assert first.endswith("state.json, trace refund-17: 8 steps, LangGraph messages")
    assert step.startswith("step 4, accountant: ")
    assert "assumes, simulates or estimates: yes (+" in result.stdout
    assert "agents: accountant " in result.stdout
    redo = r"redo from step 4: includes the mistake with probability \d+%, repeats 3 model calls \(\d+\.\d% per call\)"
    assert re.fullmatch(redo, result.stdout.splitlines()[-1])


def test_json_has_the_same(replan, state):
    shown = json.loads(replan("blame", state, "--json", "--top", 8).stdout)
    (trace,) = shown["traces"]
    assert shown["weights"] == "who_and_when"
    assert set(trace) == {"file", "trace", "format", "length", "steps", "agents", "redo", "marked"}
    assert trace["steps"][0]["number"] == 4
    assert sum(step["probability"] for step in trace["steps"]) == pytest.approx(1.0, abs=1e-5)
    assert trace["redo"]["per_call"] == pytest.approx(trace["redo"]["chance"] / trace["redo"]["calls"], abs=1e-5)


def test_standard_input_and_several_files_are_read(replan, logs):
    text = (logs / "1.json").read_text()
    alone = json.loads(replan("blame", "-", "--json", input=text).stdout)["traces"]
    both = json.loads(replan("blame", logs / "0.json", logs / "1.json", "--json").stdout)["traces"]
    assert [trace["steps"] for trace in both][1:] == [trace["steps"] for trace in alone]
    assert len(json.loads(replan("blame", logs, "--json").stdout)["traces"]) == 200


def test_weights_are_fitted_to_labelled_traces_written_and_used(replan, logs, tmp_path):
    """What is drawn against the shipped weights is learned, and the held-out half says so."""
    target = tmp_path / "mine.yaml"
    result = replan("tune", "blame", logs, "--out", target)
    assert result.exit_code == 0, result.stdout + result.stderr
    assert "more than two standard errors better" in result.stdout
    assert target.read_text().startswith("# Made by `replan tune blame`.\n")
    assert yaml.safe_load(target.read_text())["name"] == "mine"

    def hits(*options):
        traces = json.loads(replan("blame", logs, "--json", *options).stdout)["traces"]
        return sum(trace["steps"][0]["number"] == trace["marked"] for trace in traces)

    assert hits("--weights", target) > 2 * hits()


def test_what_does_not_convince_is_not_written(replan, tmp_path):
    folder = tmp_path / "few"
    folder.mkdir()
    for number, trace in enumerate(drawn(4, weights=TRUE)):
        (folder / f"{number}.json").write_text(json.dumps(log_of(trace)))
    result = replan("tune", "blame", folder, "--out", tmp_path / "mine.yaml", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["file"] is None
    assert not (tmp_path / "mine.yaml").exists()
    assert "20 are needed" in result.stderr


def test_a_fit_that_does_not_converge_is_an_error_of_one_line(replan, logs, tmp_path, monkeypatch):
    monkeypatch.setattr("replan.blame.fit._ROUNDS", 1)
    result = replan("tune", "blame", logs, "--out", tmp_path / "mine.yaml")
    assert result.exit_code == 2
    assert "TRACE: no convergence in 1 iterations (check the marks of the traces)" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "mine.yaml").exists()


def test_errors_are_one_line_with_the_next_step(replan, state, tmp_path):
    plain = tmp_path / "plain.json"
    plain.write_text('{"plan_id": "p"}')
    for arguments, cause in (
        (("blame", tmp_path / "missing.json"), "no such file"),
        (("blame", plain), "holds no trace that can be read"),
        (("blame", ""), "no file is named"),
        (("blame", state, "--weights", plain), "unknown key 'plan_id'"),
        (("tune", "blame", state, "--out", tmp_path / "out.yaml"), "no trace is labelled"),
        (("tune", "blame", state, "--out", plain), "was not made by Replan"),
    ):
        result = replan(*arguments)
        assert result.exit_code == 2, arguments
        assert cause in result.stderr
        assert result.stderr.count("\n") == 1
