"""Plays every history in this folder and compares what happens with what it says.

A history is a text file of paragraphs: commands (`tests.histories.stage` lists them), `----`, and the transcript that
they lead to. `pytest tests/histories --rewrite-histories` writes the transcripts anew; the difference is the review.
"""

from pathlib import Path

import pytest

from actors.planning.events import EVENTS
from tests.histories.stage import Stage
from tests.histories.transcript import Transcript
from tests.support.worlds import default_policy

HISTORIES = sorted(Path(__file__).parent.glob("*.txt"))
RULE = "----"


def played(text):
    """Return the history with its transcripts as they are now."""
    stage, paragraphs = Stage(), []
    for paragraph in text.strip().split("\n\n"):
        asked = paragraph.split(f"\n{RULE}")[0]
        if all(line.startswith("#") for line in asked.splitlines()):
            paragraphs.append(asked)
            continue
        said = [line for command, indented in commands(asked) for line in stage.play(command, indented)]
        paragraphs.append("\n".join([asked, RULE, *said] if said else [asked]))
    return "\n\n".join(paragraphs) + "\n"


def commands(text):
    """Return each command with the indented lines that belong to it."""
    found = []
    for line in text.splitlines():
        if line.startswith(" "):
            found[-1][1].append(line.strip())
        elif not line.startswith("#"):
            found.append((line, []))
    return found


@pytest.mark.parametrize("path", HISTORIES, ids=[path.stem for path in HISTORIES])
def test_a_history_happens_as_it_says(path, request):
    """S1 to S8, S20, S22, S27, S29, S33, S37, S93 to S96, S99, S103 to S105, S116, S117, S121, S122: see the heads."""
    written = path.read_text(encoding="utf-8")
    now = played(written)
    if request.config.getoption("--rewrite-histories", default=False):
        path.write_text(now, encoding="utf-8")
    else:
        assert now == written


def test_every_row_of_the_shipped_policy_decides_in_some_history():
    told = "".join(path.read_text(encoding="utf-8") for path in HISTORIES)
    assert [row.id for row in default_policy().rows if f" by {row.id}" not in told] == []


def test_every_kind_of_event_can_be_written_as_a_line():
    kinds = {str(event.model_fields["kind"].default) for event in EVENTS}
    assert [kind for kind in kinds if not hasattr(Transcript, f"_{kind}")] == []


def test_every_history_says_what_it_is_about():
    assert len(HISTORIES) >= 22
    assert [path.name for path in HISTORIES if not path.read_text(encoding="utf-8").startswith("# ")] == []
