"""Conflicts among requirements and among the user's sentences: what is asked about, and what a later word settles."""

import pytest

from actors.config.step_guards import BUILT_IN
from actors.guards.requirements_agree import READINGS_MAX
from actors.values.artifacts import Clarified, Context
from actors.values.requirements import requirement_id
from tests.guards.test_comparisons import agree, artifact, demand, found

LOG = "Log all request bodies. Never log request bodies."


ALL, NEVER = "Log all request bodies", "Never log request bodies"


def conflicting(problem=LOG, first=ALL, second=NEVER, **more):
    """Return the verdict on two requirements of which the first one is said to conflict with the second."""
    return agree(demand(first, conflicts_with=[second]), demand(second, "must_avoid"), problem=problem, **more)


def test_a_conflict_that_recon_states_is_a_question_with_both_quotes():
    ((code, where),) = found(conflicting())
    assert (code, where) == ("requirements.conflict", requirement_id(ALL))
    (finding,) = conflicting().findings
    assert [choice.value for choice in finding.asks.choices] == [ALL, NEVER, "neither"]


@pytest.mark.parametrize("names", [[NEVER], [requirement_id(NEVER)], [f"  {NEVER.upper()} "]])
def test_a_conflict_names_the_other_requirement_by_its_quote_or_by_its_id(names):
    assert len(found(agree(demand(ALL, conflicts_with=names), demand(NEVER, "must_avoid"), problem=LOG))) == 1


def test_sentences_that_recon_does_not_call_a_conflict_are_no_question():
    """The program does not compare the words of sentences."""
    assert found(agree(demand(ALL), demand(NEVER, "must_avoid"), problem=LOG)) == []


def limited(value, source, quote):
    return demand(quote, "deadline", source=source, limit={"name": "the end", "value": value})


def test_a_limit_with_two_values_is_asked_about_where_the_latest_source_states_both():
    """The latest source counts: what the problem says of it is settled by what was told later."""
    early, late = limited("May", "problem", "by May"), limited("June", "user", "by June")
    assert found(agree(early, late)) == []
    both = [early, late, limited("July", "user", "by July")]
    (finding,) = agree(*both).findings
    assert (finding.code, finding.where) == ("requirements.conflict", requirement_id("by June"))
    assert "by July" in finding.message
    assert "by May" not in finding.message
    two_early = [early, limited("April", "problem", "by April"), late]
    assert found(agree(*two_early)) == [], "the problem's two values no longer matter"


def test_what_one_source_wants_and_a_later_one_forbids_is_not_asked_about():
    """In both orders: the later source is right. Within one source it is a question."""
    for one, other in (("problem", "user"), ("user", "problem"), ("answer", "problem")):
        wanted, forbidden = demand("a cache", source=one), demand("A  Cache", "must_avoid", source=other)
        forbidden["quote"] = "no cache"
        assert found(agree(wanted, forbidden)) == []
        assert len(found(agree(wanted, {**forbidden, "source": one}))) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    {
        "The search must answer within TBD ms.": "TBD",
        "The export must be ready by ??, at the latest.": "??",
        "Rates above a limit to be decided must be rejected.": "to be decided",
        "- Keep the logs for tbd days": "tbd",
        "The search must answer within 200 ms.": "",
        "Remove the comment `TBD` from all files.": "",
        'Replace "to be defined" by a link in the docs.': "",
        "The tbdiff tool must be installed.": "",
        "Is the export slow? It must be fast.": "",
    }.items(),
)
def test_a_sentence_that_leaves_a_value_open_is_a_question_about_it(text, words):
    """S114: nobody but the user knows the value, whether recon states the sentence or not."""
    findings = [each for each in agree(problem=text).findings if each.code == "requirements.ambiguous"]
    assert [each.message.splitlines()[0] for each in findings] == (
        [f"Which value should replace '{words}' in the sentence below?"] if words else []
    )


@pytest.mark.parametrize("answer", ["200 ms", ""])
def test_an_open_value_is_asked_for_once_and_at_most_three_at_a_time(answer):
    """S114: what was declined is not asked again."""
    problem = "\n".join(f"- The step {number} must end within TBD ms" for number in range(1, 6))
    first = [each.message for each in agree(problem=problem).findings if each.severity == "error"]
    assert [number for number in range(1, 6) if any(f"step {number}" in message for message in first)] == [1, 2, 3]
    asked = [Clarified(message, answer, unanswered="" if answer else "declined") for message in first]
    rest = [each.message for each in agree(problem=problem, clarifications=asked).findings if each.severity == "error"]
    assert len(rest) == 2
    assert not set(first) & set(rest)


def readings(*texts, quote="It must be fast"):
    return demand(quote, readings=list(texts))


def test_a_requirement_with_several_readings_is_a_question_with_each_reading_as_a_choice():
    (finding,) = agree(readings("less than 1 s", "no slower than today"), problem="It must be fast.").findings
    assert (finding.code, finding.where, finding.severity) == (
        "requirements.ambiguous",
        requirement_id("It must be fast"),
        "error",
    )
    assert [choice.value for choice in finding.asks.choices] == ["less than 1 s", "no slower than today"]
    assert all(choice.does == "The passage has this meaning." for choice in finding.asks.choices)
    assert finding.asks.shown == "- It must be fast"
    assert found(agree(readings("one", "one"), problem="It must be fast.")) == []
    value = {"requirements": [readings("one", "two", quote="not in the text")]}
    assert found(BUILT_IN["requirements_agree"]({})(artifact("g_recon", value), Context("It must be fast."))) == []
    many = agree(readings(*(f"reading {n}" for n in range(READINGS_MAX + 5))), problem="It must be fast.").findings
    assert len(many[0].asks.choices) == READINGS_MAX


@pytest.mark.parametrize("answer", ["less than 1 s", ""])
def test_an_ambiguity_is_asked_about_once_whatever_the_answer(answer):
    stated = readings("less than 1 s", "no slower than today")
    asked = agree(stated, problem="It must be fast.").findings[0].message
    again = agree(stated, problem="It must be fast.", clarifications=[Clarified(asked, answer)])
    assert found(again) == []
    assert found(again, "warning") == [("requirements.ambiguous", requirement_id("It must be fast"))]


def test_a_step_that_may_not_ask_goes_by_its_own_reading():
    """The finding is a warning, so that the assumption is accepted and recorded; a conflict still rejects."""
    value = {"requirements": [readings("less than 1 s", "no slower than today")]}
    for may_ask, passed in ((False, True), (True, False)):
        context = Context("It must be fast.", settings={"may_ask": may_ask})
        verdict = BUILT_IN["requirements_agree"]({})(artifact("g_recon", value), context)
        assert (verdict.passed, [found.code for found in verdict.findings]) == (passed, ["requirements.ambiguous"])
    stated = [demand(ALL, conflicts_with=[NEVER]), demand(NEVER, "must_avoid")]
    silent = Context(LOG, settings={"may_ask": False})
    assert not BUILT_IN["requirements_agree"]({})(artifact("g_recon", {"requirements": stated}), silent).passed


def test_a_conflict_that_both_requirements_declare_is_asked_about_once():
    one, other = demand("fast", conflicts_with=["small"]), demand("small", conflicts_with=["fast"])
    assert found(agree(one, other)) == [("requirements.conflict", requirement_id("fast"))]
