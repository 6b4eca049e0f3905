"""What each codec may contain: a release of codec 1 goes on with every run that has this codec.

`frozen_names_codec_1.json` has the names that 0.2.0 knows; it never changes. A name that is added since belongs to a
later codec: list it here, and write it only to runs of that codec, as `replan.runs.inbox` does with `via`
(`RunRow.codec`), or refuse to start a run that needs it, as `replan.runs.codec_check` does with a policy of beliefs.
Names of tables are not listed: `tests/journal/test_versions.py` says what may be added to them.
"""

import json
from pathlib import Path

from runtime.journal.versions import CODEC
from tests.journal.list_stored_names import lost
from tests.journal.test_frozen_names import frozen

CODEC_1 = Path(__file__).parent / "frozen_names_codec_1.json"
ANSWERS = ("clarification_answered", "clarification_declined")
SINCE = {
    2: {
        *(f"{kind}events.{event}.keys.via" for kind in ("", "executions.", "acquisitions.") for event in ANSWERS),
        "messages.answer.body 'via'",
        "messages.decline.body 'via'",
        "events.decided.keys.weighing",
        "values.belief",
        "values.belief agreement",
        "values.belief person",
        "values.pinned.no_input",
        "values.policy.belief",
        "values.weighed move",
        "values.weighed place",
        "values.weighing",
        *(f"{kind}values.limits.stop_below" for kind in ("", "acquisitions.")),
        "values.workflow.stop_below",
        "messages.change.body 'stop_below'",
    }
}
"""The names that each codec has added."""


def recorded(names):
    """Return the names that records and messages may contain."""
    return {key: value for key, value in names.items() if key not in ("file", "used by workflows")}


def added():
    """Return the names that the first codec does not have."""
    lines = lost(recorded(frozen()), json.loads(CODEC_1.read_text(encoding="utf-8")))
    return {line.removesuffix(" is gone").replace(" has no", "") for line in lines}


def test_a_name_that_the_first_codec_lacks_is_listed_under_its_codec():
    assert added() == set().union(*SINCE.values())


def test_the_newest_codec_is_the_one_of_this_release():
    assert max(SINCE) == CODEC


def test_no_name_of_the_first_codec_is_lost():
    assert list(lost(recorded(json.loads(CODEC_1.read_text(encoding="utf-8"))), frozen())) == []
