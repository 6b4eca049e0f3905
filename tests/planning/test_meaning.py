"""Two artifacts have the same meaning if they say the same in other words."""

import json

from actors.planning.meaning import typed_meaning
from actors.values.artifacts import Artifact


def _meaning(role: str, **fields: object) -> str:
    return typed_meaning(Artifact("a", "g_step", json.dumps(fields)), role)


def test_an_analysis_means_the_same_whatever_its_rationale():
    one = _meaning("analysis", problem_type="bug_fix", language="python", rationale="A timeout is lost.")
    assert one == _meaning("analysis", rationale="Some timeout was lost.", language=" Python", problem_type="bug_fix")
    assert one != _meaning("analysis", problem_type="feature", language="python", rationale="A timeout is lost.")


def test_a_recon_means_the_same_if_its_lists_are_the_same_sets():
    one = _meaning("recon", mentioned_files=["a.py", "b.py"], constraints_mentioned=["No  downtime"])
    assert one == _meaning("recon", mentioned_files=["b.py", "a.py", "b.py"], constraints_mentioned=["no downtime"])
    assert one != _meaning("recon", mentioned_files=["a.py"], constraints_mentioned=["No downtime"])


def test_a_strategy_means_its_id():
    assert _meaning("strategy", strategy_id="s", key_steps=["x"]) == _meaning("strategy", strategy_id="s")
    assert _meaning("strategy", strategy_id="s") != _meaning("strategy", strategy_id="t")


def test_an_artifact_without_typed_fields_is_compared_as_a_whole_without_its_white_space():
    assert _meaning("review", note="so  be it") == _meaning("review", note="so be it")
    assert _meaning("analysis", note="one") != _meaning("analysis", note="two")
    texts = [typed_meaning(Artifact("a", "g_step", text), "strategy") for text in ("no  JSON", "no JSON", "other")]
    assert texts[0] == texts[1] != texts[2]
