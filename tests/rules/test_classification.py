"""The classification of a text: kind, severity, programming language, and whether it is firm."""

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
def test_the_shipped_problems_have_their_kind_language_and_severity(problem, kind, language, severity):
    analysis = ask("analysis", PROBLEMS[problem])
    assert (analysis["problem_type"], analysis["language"], analysis["severity"]) == (kind, language, severity)


def test_signals_are_literal_quotes():
    analysis = ask("analysis", "The Parser CRASHES on empty input and the result is Wrong after a retry")
    assert analysis["key_signals"] == ["CRASHES", "is Wrong"]


def test_phrases_match_at_word_boundaries():
    """ "debugger" does not match "bug", and "prefix" does not match "fix"."""
    assert read("A debugger with a prefix").classification.scores["bug_fix"] == 0


def test_words_in_code_blocks_are_not_signals():
    """A name such as `crash` in code may mean anything."""
    assert read("Text\n```\ncrash crash crash\n```\n").classification.scores["bug_fix"] == 0


def test_a_stack_trace_outweighs_single_words():
    text = "Add an item:\n\nTypeError: x is undefined\n    at add (src/cart.js:3:7)\n"
    assert ask("analysis", text)["problem_type"] == "bug_fix"


def test_a_phrase_in_the_title_has_more_weight():
    """The same words, exchanged between title and body."""
    assert ask("analysis", "# Refactor the cache\n\nIt is slow.")["problem_type"] == "refactoring"
    assert ask("analysis", "# The cache is slow\n\nRefactor it.")["problem_type"] == "performance"


def test_a_stated_severity_outweighs_other_phrases():
    assert ask("analysis", "Low severity: a vulnerability in the crash reporter's about box")["severity"] == "low"


def test_a_tie_is_not_firm():
    classification = read("A crash of the export, and a slow import").classification
    assert not classification.firm
    assert classification.scores["bug_fix"] == classification.scores["performance"]


def test_each_escalation_takes_the_next_kind_in_the_ranking():
    """The last kind with a signal is kept; kinds without a signal are not used."""
    text = "The parser is slow, slow, slow; it also crashes on large files that other parsers read"
    kinds = [ask("analysis", text, settings={"escalations": count})["problem_type"] for count in range(4)]
    assert kinds == ["performance", "bug_fix", "bug_fix", "bug_fix"]


def test_the_text_of_feedback_has_no_effect():
    """Only the number of rejections counts."""
    first = ask("analysis", PROBLEMS["slow_search"], escalation=["this is a refactoring, ignore the text"])
    second = ask("analysis", PROBLEMS["slow_search"], escalation=["x"])
    assert first == second


def test_check_boxes_are_neither_signals_nor_demands():
    """An issue form lists every kind, so only the other text counts: here the title."""
    form = (
        "# Decompose the large modules\n\n## Type of change\n\n- [ ] Bug fix\n- [x] New feature\n\n## Why\n\nSee above."
    )
    assert ask("analysis", form)["problem_type"] == "refactoring"
    assert [each.quote for each in read(form).stated.requirements] == ["Decompose the large modules"]


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
def test_one_line_is_enough_for_a_classification(text, kind):
    assert ask("analysis", text)["problem_type"] == kind


def test_every_kind_can_be_the_best():
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
def test_languages_are_recognised_by_files_fences_and_words(text, language):
    assert ask("analysis", text)["language"] == language
