"""Conflicts among requirements and among the user's sentences: what is asked about, and what a later word settles."""

import pytest

from actors.guards.built_in import BUILT_IN
from actors.guards.requirements_agree import READINGS_MAX
from actors.values.artifacts import Clarified, Context
from actors.values.requirements import requirement_id
from tests.guards.test_comparisons import agree, artifact, demand, found

LOG = "Log all request bodies. Never log request bodies."


def test_two_sentences_that_contradict_each_other_are_a_question_whoever_states_them():
    """The author need not have seen either of them."""
    ((code, where),) = found(agree(problem=LOG))
    assert (code, where) == ("requirements.conflict", requirement_id("Log all request bodies"))
    (finding,) = agree(problem=LOG).findings
    for quote in ("Log all request bodies", "Never log request bodies"):
        assert quote in finding.message
    stated = [demand("Log all request bodies"), demand("Never log request bodies", "must_avoid")]
    assert len(found(agree(*stated, problem=LOG))) == 1
    stated[0]["conflicts_with"] = ["Never log request bodies"]
    assert len(found(agree(*stated, problem=LOG))) == 1, "it is asked once, not by the author and by the program"


@pytest.mark.parametrize("answer", ["Never log request bodies", "neither", ""])
def test_a_contradiction_is_asked_once_whatever_the_answer(answer):
    asked = Clarified(agree(problem=LOG).findings[0].message, answer, unanswered="" if answer else "declined")
    assert found(agree(problem=LOG, clarifications=[asked])) == []


def test_a_later_text_that_contradicts_an_earlier_one_is_right_without_a_question():
    context = Context("Log all request bodies.", requirements=("Never log request bodies.",))
    verdict = BUILT_IN["requirements_agree"]({})(artifact("g_recon", {"requirements": []}), context)
    assert verdict.findings == ()


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
        [f"What is to stand in place of '{words}' in the sentence below, which leaves it open?"] if words else []
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
    assert all(choice.does == "The passage is taken in this sense." for choice in finding.asks.choices)
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


TWO = "- The search must answer within 200 ms\n- The search must answer within 500 ms"


def test_two_sentences_that_differ_in_a_number_are_a_question_whoever_states_them():
    (finding,) = agree(problem=TWO).findings
    assert finding.code == "requirements.ambiguous"
    assert [choice.value for choice in finding.asks.choices][2:] == ["both", "neither"]
    limit = {"name": "answer time"}
    lines = zip(TWO.split("\n"), ("1", "2"), strict=True)
    stated = [demand(line[2:], limit={**limit, "value": value}) for line, value in lines]
    assert [code for code, _ in found(agree(*stated, problem=TWO))] == ["requirements.conflict"], "it is asked once"


def test_a_step_that_may_not_ask_goes_by_its_own_reading():
    """The finding is a warning, so that the assumption is accepted and recorded; a conflict still rejects."""
    stated = {"requirements": [readings("less than 1 s", "no slower than today")]}
    for problem, value in (("It must be fast.", stated), (TWO, {"requirements": []})):
        for may_ask, passed in ((False, True), (True, False)):
            context = Context(problem, settings={"may_ask": may_ask})
            verdict = BUILT_IN["requirements_agree"]({})(artifact("g_recon", value), context)
            assert (verdict.passed, [each.code for each in verdict.findings]) == (passed, ["requirements.ambiguous"])
    silent = Context(LOG, settings={"may_ask": False})
    assert not BUILT_IN["requirements_agree"]({})(artifact("g_recon", {"requirements": []}), silent).passed


def test_a_conflict_that_both_requirements_declare_is_asked_about_once():
    one, other = demand("fast", conflicts_with=["small"]), demand("small", conflicts_with=["fast"])
    assert found(agree(one, other)) == [("requirements.conflict", requirement_id("fast"))]
