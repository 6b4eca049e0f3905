"""What happens in a run, in words: no id of an attempt and no name of a rule is left."""

import pytest

from actors.run.words import in_words, question_in_words, reason_in_words

LINES = {
    "g_recon/v1.a1 requested, 9 tokens at most": "recon requested, 9 tokens at most",
    "g_plan/v2.a3.t2 came late": "plan, visit 2, third attempt, try 2 came late",
    "g_plan/v1.a12.b3 accepted": "plan, branch 3, 12th attempt accepted",
    "g_plan/v1.a22 accepted": "plan, attempt 22 accepted",
    "search_market/v1.a1 is over": "search market is over",
    "g_plan/v1.a1 => partial_replan to g_recon, by rule belief": "plan: back to recon",
    "g_plan/v1.a1 => local_retry to g_plan, by rule malformed": "plan: the step is tried again",
    "g_plan/v1.a1 => clarify, by rule ask": "plan: you are asked",
    "=> partial_replan to g_recon because of plan.cycle, by rule belief": "back to recon because of plan.cycle",
    "revision 1: cleared g_recon, g_plan": "done again: recon, plan",
    "cleared g_recon, g_plan; cost of the lost work: 3": "done again: recon, plan; cost of the lost work: 3",
    "g_plan/v1.a2/c.t3 asked for": "plan, second attempt, its cause, try 3 asked for",
    "write_fix/r1.v1.a1.check": "write fix, check",
    "tool:write_fix/r2.v3.a1.act.t2 started": "write fix, revision 2, visit 3, act, try 2 started",
    "replan/r2.n1 asked for": "replan, revision 2 asked for",
    "tool:workspace/start": "snapshot of the workspace at the start",
    "tool:workspace/look.n1": "preflight check 1",
    "planner/n2": "trouble 2",
    "question q1 (g_plan: ask_the_user): Is the step 'g_plan' done?": (
        "question q1 (plan: ask the user): Is the step 'plan' done?"
    ),
    "the folder src/r2.d2 and 12/n4": "the folder src/r2.d2 and 12/n4",
    "see src/v1.api and g_recon": "see src/v1.api and g_recon",
}


def test_the_texts_of_a_question_name_steps_in_words_and_leave_the_words_of_a_model():
    text = "The step 'g_recon' waits for the answer, and 'g_plan' after it."
    assert question_in_words(text) == "The step 'recon' waits for the answer, and 'plan' after it."
    assert question_in_words("Is it about g_recon: fast?") == "Is it about g_recon: fast?"
    assert reason_in_words("g_analysis: ask_the_user") == "analysis: ask the user"
    assert reason_in_words("fix/r1.v1.a1.act: the outcome is unknown") == "fix, act: the outcome is unknown"


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_in_words(line):
    assert in_words(line) == LINES[line]
