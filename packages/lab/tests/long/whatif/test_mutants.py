"""Some mutants of the decisions are named with their exact records; `make whatif-mutants` plants a hundred others."""

from packages.lab.tests.whatif.mutants import judged, place

PLACES = (
    ("actors/planning/rules.py", "branch.to_revise is not None", "(branch.to_revise is None)"),
    ("actors/planning/events.py", "self.level is BacktrackLevel.GIVE_UP", "(self.level is not BacktrackLevel.GIVE_UP)"),
    ("actors/policy/decision.py", "return tuple(upward[:1])", "return None"),
    (
        "actors/run/machine.py",
        "return outage.continue_outage(run, message) if run.finished is None else None",
        "return None",
    ),
    ("actors/run/evolve.py", "not event.final", "(event.final)"),
    ("actors/run/tools.py", "tool.request.repeatable and tool.certain", "(tool.request.repeatable or tool.certain)"),
    ("actors/execution/attempts.py", 'use.expect == "failure"', "(use.expect != 'failure')"),
)


def test_mutants_that_change_a_decision_are_named_with_the_record():
    rows = list(judged([place(*each) for each in PLACES]))
    assert [(row["file"], row["result"], row["histories"]) for row in rows if row["result"] != "named"] == []
    assert len(rows) == len(PLACES)
