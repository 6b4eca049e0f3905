"""The worker process that replays runs. `replan_lab.whatif.processes` starts it and talks to it over pipes.

The command is `python -m replan_lab.whatif.worker`. The worker is a separate process: a guard that never ends can then
be killed, and another checkout can replay the runs. The first line of its input is the edit, and each further line is a
run. The worker writes one line of JSON for each input line.
"""

import os
import sys
from dataclasses import replace
from typing import Any

import orjson

from replan.setup.installation import data_root
from replan.setup.kinds import Kinds
from replan.setup.plugins import registry
from replan_lab.whatif.differences import EditedRules, FoldOutcome, RunComparison
from replan_lab.whatif.edits import EditRequest, rules_for
from replan_lab.whatif.fold import compare_run
from replan_lab.whatif.recorded_run import StoredRun
from runtime.core.errors import JournalError, UsageProblem


def finding_of(stored: StoredRun, kinds: Kinds, edit: EditedRules) -> RunComparison:
    """Return the comparison of one run. If the run cannot be read, the outcome of the comparison is `unreadable`."""
    try:
        kind = kinds.get(stored.run, stored.kind, stored.format)
        return compare_run(stored.decode_events(kind.codec), kind, edit)
    except (JournalError, UsageProblem) as error:
        return RunComparison(stored.run, FoldOutcome.UNREADABLE, stored.status, reason=str(error))


def _read_edit(line: bytes) -> EditedRules:
    """Return the edit that the first line of the input describes. Raises `UsageProblem` if the edit cannot be used."""
    fields: dict[str, Any] = orjson.loads(line)
    daily_budget = fields.pop("daily_budget")
    lists = {name: tuple(fields[name]) for name in ("guards", "plugins")}
    request = EditRequest(**{**fields, **lists})
    edit = rules_for(request, registry(files=request.plugins), data_root())
    return replace(edit, daily_budget=daily_budget)


def main() -> None:
    """Write an answer for every line until the input ends."""
    # A guard may print. Its printed text is no answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def answer(value: Any) -> None:
        answers.write(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))
        answers.flush()

    try:
        edit = _read_edit(sys.stdin.buffer.readline())
    except UsageProblem as problem:
        answer({"cause": problem.cause, "place": problem.place, "hint": problem.hint})
        return
    answer({})
    kinds = Kinds()
    for line in sys.stdin.buffer:
        answer(finding_of(StoredRun.from_line(line), kinds, edit).to_json())


if __name__ == "__main__":
    main()
