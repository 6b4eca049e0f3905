"""Executes every history in this folder and compares the transcripts.

A history is a text file of paragraphs: commands (`tests.histories.interpreter` lists them), `----`, and the resulting
transcript. `pytest tests/histories --rewrite-histories` writes the transcripts anew, for a review of the difference.
"""

from pathlib import Path

import pytest

from actors.planning.events import EVENTS
from tests.histories.interpreter import Interpreter
from tests.histories.transcript import Transcript
from tests.support.question_form import breaches_in
from tests.support.worlds import default_policy

HISTORIES = sorted(Path(__file__).parent.glob("*.txt"))
RULE = "----"


def rewritten(text, interpreter):
    """Return the history with its current transcripts, as an interpreter writes them."""
    paragraphs = []
    for paragraph in text.strip().split("\n\n"):
        script = paragraph.split(f"\n{RULE}")[0]
        if all(line.startswith("#") for line in script.splitlines()):
            paragraphs.append(script)
            continue
        output = [line for command, indented in commands(script) for line in interpreter.execute(command, indented)]
        paragraphs.append("\n".join([script, RULE, *output] if output else [script]))
    return "\n\n".join(paragraphs) + "\n"


def commands(text):
    """Return each command with the indented lines that belong to it."""
    groups = []
    for line in text.splitlines():
        if line.startswith(" "):
            groups[-1][1].append(line.strip())
        elif not line.startswith("#"):
            groups.append((line, []))
    return groups


@pytest.mark.parametrize("path", HISTORIES, ids=[path.stem for path in HISTORIES])
def test_a_history_has_its_transcript(path, request):
    """S1 to S8, S20, S22, S27, S29, S33, S37, S93 to S96, S99, S103 to S105, S116, S117, S121, S122."""
    check(path, Interpreter(), request)


def check(path, interpreter, request):
    """Compare a history with its current transcripts, or write these where that is wished; check its questions."""
    written = path.read_text(encoding="utf-8")
    current = rewritten(written, interpreter)
    assert breaches_in(interpreter.events)[0] == []
    if request.config.getoption("--rewrite-histories", default=False):
        path.write_text(current, encoding="utf-8")
    else:
        assert current == written


def test_every_row_of_the_shipped_policy_decides_in_some_history():
    transcripts = "".join(path.read_text(encoding="utf-8") for path in HISTORIES)
    assert [row.id for row in default_policy().rows if f" by {row.id}" not in transcripts] == []


IN_EXECUTIONS = {"tool_transient", "tool_permanent", "tool_failure"}
"""The rows that only a tool can make fire, so only in executions: planning calls no tools."""
FIRES = {"requirements_changed": "\ntold "}
"""What shows in a transcript that a row has decided, where it is no decision about a rejection."""


def test_every_row_that_planning_can_reach_fires_with_shipped_parts_and_success_follows():
    """S108, S109, S111 to S114: a scripted artifact may have the fault; the finding is always a shipped guard's."""
    rows = [row.id for row in default_policy().rows if row.id not in IN_EXECUTIONS]
    told = {row: (HISTORIES[0].parent / f"row_{row}_shipped.txt").read_text(encoding="utf-8") for row in rows}
    assert [row for row, text in told.items() if "\nbad " in text or "\nreject " in text] == []
    after = {row: text.partition(FIRES.get(row, f" by {row}"))[2] for row, text in told.items()}
    assert [row for row, text in after.items() if "\nfinished  success" not in text] == []
    assert len(rows) == len(default_policy().rows) - len(IN_EXECUTIONS) == 14


def test_every_row_for_tools_fires_in_an_execution_and_success_follows():
    """S108, S111, S112: the other three rows; with those of planning they are all rows of the policy."""
    text = (HISTORIES[0].parent / "executions" / "tool_rows.txt").read_text(encoding="utf-8")
    assert {row.id for row in default_policy().rows} > IN_EXECUTIONS
    assert [row for row in IN_EXECUTIONS if "\nfinished: success" not in text.partition(f" ({row}")[2]] == []


def test_the_transcript_has_a_line_for_every_kind_of_event():
    kinds = {str(event.model_fields["kind"].default) for event in EVENTS}
    assert [kind for kind in kinds if not hasattr(Transcript, f"_{kind}")] == []


def test_every_history_starts_with_a_comment():
    assert len(HISTORIES) >= 22
    assert [path.name for path in HISTORIES if not path.read_text(encoding="utf-8").startswith("# ")] == []
