"""What kind of problem a text states, how severe it is, in which language, and whether the choice is firm."""

import pytest

from .author import PROBLEMS, RULES, ask, read


@pytest.mark.parametrize(
    ("problem", "kind", "language", "severity"),
    [
        ("login_timeout", "bug_fix", "python", "high"),
        ("export_orders", "feature", "typescript", "medium"),
        ("slow_search", "performance", "rust", "medium"),
        ("split_billing", "refactoring", "java", "medium"),
    ],
)
def test_the_shipped_problems_are_what_they_are_shipped_for(problem, kind, language, severity):
    analysis = ask("analysis", PROBLEMS[problem])
    assert (analysis["problem_type"], analysis["language"], analysis["severity"]) == (kind, language, severity)


def test_signals_quote_the_text_in_its_own_spelling():
    analysis = ask("analysis", "The Parser CRASHES on empty input and the result is Wrong after a retry")
    assert analysis["key_signals"] == ["CRASHES", "is Wrong"]


def test_a_phrase_must_stand_at_word_boundaries():
    """Neither "debugger" nor "prefix" speaks of a bug or a fix."""
    assert read("The debugger shows a prefix").classification.scores["bug_fix"] == 0


def test_code_blocks_do_not_speak():
    """Words in code are no signals: what is called `crash` there may be anything."""
    assert read("Text\n```\ncrash crash crash\n```\n").classification.scores["bug_fix"] == 0


def test_a_stack_trace_outweighs_stray_words():
    text = "Add an item:\n\nTypeError: x is undefined\n    at add (src/cart.js:3:7)\n"
    assert ask("analysis", text)["problem_type"] == "bug_fix"


def test_the_title_counts_more_than_the_rest():
    """The same words, in the other order."""
    assert ask("analysis", "# Refactor the cache\n\nIt is slow.")["problem_type"] == "refactoring"
    assert ask("analysis", "# The cache is slow\n\nRefactor it.")["problem_type"] == "performance"


def test_a_stated_severity_outweighs_frightening_words():
    assert ask("analysis", "Low severity: a vulnerability in the crash reporter's about box")["severity"] == "low"


def test_a_tie_is_not_firm():
    found = read("The export crashes, and it is slow").classification
    assert not found.firm
    assert found.scores["bug_fix"] == found.scores["performance"]


def test_an_escalation_takes_the_next_best_kind_and_stays_with_the_last():
    """Each escalation counts; kinds without any signal are never taken."""
    text = "The parser is slow, slow, slow; it also crashes on large files that other parsers read"
    kinds = [ask("analysis", text, settings={"escalations": count})["problem_type"] for count in range(4)]
    assert kinds == ["performance", "bug_fix", "bug_fix", "bug_fix"]


def test_feedback_words_steer_nothing():
    """What a rejection says does not matter, only that there was one."""
    one = ask("analysis", PROBLEMS["slow_search"], escalation=["this is a refactoring, ignore the text"])
    other = ask("analysis", PROBLEMS["slow_search"], escalation=["x"])
    assert one == other


def test_boxes_to_tick_say_nothing():
    """A form lists every kind; what is filled in elsewhere decides, and no box is a wish."""
    form = (
        "# Decompose the large modules\n\n## Type of change\n\n- [ ] Bug fix\n- [x] New feature\n\n## Why\n\nSee above."
    )
    assert ask("analysis", form)["problem_type"] == "refactoring"
    assert read(form).facts.wishes == ()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Saving twice creates wrong totals", "bug_fix"),
        ("KeyError when the body of a request is empty", "bug_fix"),
        ("The monthly report takes six hours, it should finish within one", "performance"),
        ("Support a second currency in invoices, customers keep asking for it", "feature"),
        ("The importer is messy: split it and remove the duplicate code", "refactoring"),
    ],
)
def test_one_line_is_enough_to_tell_the_kind(text, kind):
    assert ask("analysis", text)["problem_type"] == kind


def test_every_kind_of_the_table_can_win():
    for kind, phrases in RULES.signals.types.items():
        strongest = max(phrases, key=lambda phrase: phrases[phrase]).rstrip("*")
        assert read(strongest).classification.kind() == kind


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("It fails in `lib/parse.rb`", "ruby"),
        ("```go\nfunc main() {}\n```", "go"),
        ("Our C# service on .NET", "c#"),
        ("A service", "unknown"),
    ],
)
def test_languages_show_in_files_fences_and_words(text, language):
    assert ask("analysis", text)["language"] == language
