"""What the form of a sentence says: reports, wishes, instructions and names are told apart by their verbs."""

import pytest

from actors.rules.sentence_forms import CAPABILITY, INSTRUCTION, NAME, QUESTION, STATEMENT, WISH, form_of

from .author import RULES, ask, read


@pytest.mark.parametrize(
    ("sentence", "form"),
    [
        ("The menu opens behind the video player", STATEMENT),
        ("Search returns no results", STATEMENT),
        ("Filtering by date ignores the time zone", STATEMENT),
        ("Greek letters in our invoices show up as squares", STATEMENT),
        ("If I press back after checkout, my cart is full again", STATEMENT),
        ("I get an error when I open my own draft", STATEMENT),
        ("The week starts on Sunday", STATEMENT),
        ("Cache the exchange rates", INSTRUCTION),
        ("Add a page that shows the stock", INSTRUCTION),
        ("Find out why the backup is empty", INSTRUCTION),
        ("Profile pictures for team members", NAME),
        ("Bulk edit of tags in the asset list", NAME),
        ("A grace period before an account is suspended", NAME),
        ("Customers should see their balance", WISH),
        ("Could you show charging stations on the map?", QUESTION),
        ("Admins can revoke API keys", CAPABILITY),
        ("", NAME),
    ],
)
def test_the_form_of_a_sentence(sentence, form):
    assert form_of(sentence, RULES.forms) == form


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The menu opens behind the video player on mobile", "bug_fix"),
        ("Admins can revoke API keys", "feature"),
        ("High-contrast theme for the mobile app", "feature"),
        ("Boolean parameters of render() into an options object", "refactoring"),
        ("Order status is a bare string in 60 places, make it an enum", "refactoring"),
        ("Docker image is 2.3 GB, should be under 400 MB", "performance"),
        ("Expanding a folder with 10,000 files locks the window for half a minute", "performance"),
    ],
)
def test_a_title_without_a_word_for_its_kind(text, kind):
    assert ask("analysis", text)["problem_type"] == kind


def test_what_fails_in_a_proposal_is_the_motive_of_something_new():
    text = (
        "Deferred arguments\n\nAbstract\nThis proposal adds arguments that are computed late.\n\n"
        "Motivation\nToday the function fails with a wrong value, and users cannot see why."
    )
    assert ask("analysis", text)["problem_type"] == "feature"


def test_an_advisory_is_a_bug_whatever_it_adds():
    text = "Package: pathjoin\n\nMembers are written outside the folder. An attacker can add files of their own."
    assert ask("analysis", text)["problem_type"] == "bug_fix"


def test_a_list_below_a_name_is_a_specification():
    text = "# Loyalty points\n\n- one per euro\n- shown on the account page\n- they cannot be paid out\n- refunds count"
    assert ask("analysis", text)["problem_type"] == "feature"


def test_no_word_speaks_twice_for_a_kind():
    """ "As an operator I want" is one wish, although three patterns find it, which would come to more than 30."""
    assert read("As an operator I want quotas for each API key").classification.scores["feature"] <= 20


def test_ambiguous_words_alone_do_not_show_that_a_text_is_about_software():
    """Words such as "release" and "line" also have meanings outside of software."""
    analysis = ask("analysis", "Rewrite the press release about the merger so that it is half as long")
    assert "about software" in analysis["not_understood"]


def test_one_everyday_word_does_not_refuse_a_text():
    analysis = ask("analysis", "Side-by-side comparison of two versions of a novel")
    assert analysis.get("open_questions")


@pytest.mark.parametrize(
    ("text", "quote", "kind"),
    [
        (
            "The export crashes. Ledger tables are frozen, so nothing may write to them.",
            "nothing may write",
            "must_avoid",
        ),
        ("The page is slow. We are not allowed to change the driver before March.", "not allowed", "must_avoid"),
        ("Speed up the gallery page. Two seconds would be acceptable.", "would be acceptable", "goal"),
        ("The API bill tripled. Bring the cost back to what it was.", "Bring the cost back", "goal"),
    ],
)
def test_what_is_demanded_in_passing_is_listed(text, quote, kind):
    requirements = ask("recon", text)["requirements"]
    assert [requirement["kind"] for requirement in requirements if quote in requirement["quote"]] == [kind]


def test_a_proposal_states_no_cause():
    text = (
        "Adaptive interpreter\n\nAbstract\nThis proposal speeds up the interpreter.\n\n"
        "Motivation\nThe work caused by wrong guesses is small."
    )
    assert "states a cause" not in ask("plan", text)["basis"]


def test_a_decision_shows_the_first_six_alternatives():
    text = "Should we use Ada, Bea, Cid, Dan, Eva, Fay, Gil or Hal?"
    assert read(text).decision.alternatives == ("Ada", "Bea", "Cid", "Dan", "Eva", "Fay")
