"""What happens in a run, in words: no id of an attempt and no name of a rule is left."""

import pytest

from replan.views.humanize import in_words

LINES = {
    "g_recon/v1.a1 asked for, 9 tokens at most": "recon, first attempt asked for, 9 tokens at most",
    "g_plan/v2.a3.t2 came late": "plan, visit 2, third attempt, try 2 came late",
    "g_plan/v1.a12.b3 accepted": "plan, branch 3, 12th attempt accepted",
    "g_plan/v1.a22 accepted": "plan, attempt 22 accepted",
    "search_market/v1.a1 is over": "search market, first attempt is over",
    "g_plan/v1.a1 => partial_replan to g_recon, by rule belief": "plan, first attempt: back to recon",
    "g_plan/v1.a1 => local_retry to g_plan, by rule malformed": "plan, first attempt: it is tried again",
    "g_plan/v1.a1 => clarify, by rule ask": "plan, first attempt: you are asked",
    "=> partial_replan to g_recon because of plan.cycle, by rule belief": "back to recon because of plan.cycle",
    "revision 1: cleared g_recon, g_plan": "done again: recon, plan",
    "see src/v1.api and g_recon": "see src/v1.api and g_recon",
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_in_words(line):
    assert in_words(line) == LINES[line]
