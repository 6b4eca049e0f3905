"""When the built-in author plans, asks or gives up, and what it says about a plan."""

import pytest

from actors.rules.subject import subject_of

from .author import PROBLEMS, RULES, ask, judged, pipeline, read

GERMAN = "Die Anmeldung geht seit dem letzten Update nicht mehr."
KIND = RULES.phrases.kind_question
AMBIGUOUS = "The export crashes, and it is slow"


def question_of(text, **material):
    """Return the text of the question that an analysis asks, or None."""
    questions = ask("analysis", text, **material)["open_questions"]
    return questions[0]["question"] if questions else None


def codes(role, value, text):
    """Return the codes of the errors of a role's first guard."""
    return [finding.code for finding in next(iter(judged(role, value, text).values())).errors]


@pytest.mark.parametrize(
    "text",
    [
        "Clicking Save does nothing",
        "Login button missing",
        "Search returns no results",
        "Users are logged out after 5 minutes",
        "Export loses the last row",
        "The total should be 10 but the page shows 9.99",
    ],
)
def test_a_symptom_speaks_for_a_bug(text):
    assert ask("analysis", text)["problem_type"] == "bug_fix"


def test_a_symptom_in_a_wish_for_something_new_does_not_speak_for_a_bug():
    assert ask("analysis", "Add a warning to the upload page if a file loses rows")["problem_type"] == "feature"


def test_the_basis_of_a_plan_says_what_the_text_was_taken_for():
    basis = ask("plan", "Clicking Save does nothing")["basis"]
    assert 'Template for a bug, by the words "does nothing"' in basis
    assert "%" not in basis


def test_a_plan_for_another_kind_than_its_own_says_whose_kind_it_follows():
    basis = ask("plan", "Clicking Save does nothing", dependencies={"analysis": {"problem_type": "feature"}})["basis"]
    assert basis.startswith("Template for a feature, as the accepted analysis says.")


def test_another_language_gets_one_line_that_names_the_alternative():
    question = question_of(GERMAN)
    assert "German" in question
    assert "-m NAME" in question
    assert "\n" not in question


def test_an_answer_in_english_takes_the_place_of_the_text():
    answers = [{"question": question_of(GERMAN), "answer": "The login page fails with an error since the last update."}]
    artifacts = pipeline(GERMAN, clarifications=answers)
    assert artifacts["analysis"]["problem_type"] == "bug_fix"
    assert artifacts["plan"]["goal"].startswith("The login page fails")


def test_an_answer_in_another_language_is_not_understood():
    answers = [{"question": question_of(GERMAN), "answer": "Ich kann mich nicht mehr anmelden, es geht nicht."}]
    assert codes("analysis", ask("analysis", GERMAN, clarifications=answers), GERMAN) == ["problem.not_understood"]


@pytest.mark.parametrize("role", ["analysis", "strategy", "plan"])
def test_a_text_that_is_not_about_software_is_not_understood(role):
    text = "Plan my move from Munich to Berlin: a cat, a piano, a flat on the fourth floor."
    value = ask(role, text)
    assert codes(role, value, text) == ["problem.not_understood"]
    assert "piano" in value["not_understood"]


def test_an_ambiguous_text_is_asked_about_and_the_answer_decides():
    assert question_of(AMBIGUOUS) == f"{RULES.phrases.kind_unclear}\n{KIND}"
    for answer, kind in RULES.phrases.kind_answers.items():
        answers = [{"question": KIND, "answer": kind}]
        value = ask("analysis", AMBIGUOUS, clarifications=answers)
        if answer == "none":
            assert codes("analysis", value, AMBIGUOUS) == ["problem.not_understood"]
        else:
            assert value["problem_type"] == answer
            assert "as the answer to a question says" in ask("plan", AMBIGUOUS, clarifications=answers)["basis"]


@pytest.mark.parametrize("text", [AMBIGUOUS, GERMAN, "Fix it"])
def test_a_question_that_nobody_answers_is_never_followed_by_a_guess(text):
    answers = []
    while question := question_of(text, clarifications=answers):
        answers.append({"question": question, "answer": "", "unanswered": "declined"})
        assert len(answers) <= 2
    assert codes("analysis", ask("analysis", text, clarifications=answers), text) == ["problem.not_understood"]


def test_a_later_prohibition_does_not_say_what_is_wanted_but_a_symptom_does():
    thin = question_of("Make it better, please.")
    assert question_of("Make it better, please.", requirements=["Never write to the production database."]) == thin
    assert question_of("Make it better, please.", requirements=["The login page crashes."]) is None


def test_a_long_text_says_that_it_was_cut():
    text = "The parser crashes on empty rows.\n" + "Another line.\n" * 20_000
    plan = ask("plan", text)
    assert "Only the first 200,000 characters" in plan["basis"]


def test_two_hundred_requirements_share_the_steps_of_a_plan_that_stays_short():
    text = "# Add an importer\n\n" + "\n".join(f"- read column {number}" for number in range(500))
    plan = ask("plan", text)
    assert len(plan["requirements"]) == 200
    taken = {name for step in plan["steps"] for name in step.get("satisfies", [])}
    assert taken == {requirement["id"] for requirement in plan["requirements"]}
    assert len(plan["steps"]) < 25


def test_an_observation_in_a_report_is_no_requirement_and_the_goal_is_that_the_failure_is_gone():
    stated = read(
        "Users cannot log in since Monday\n\nThe page is not shown, the mail never arrives and no error is logged."
    ).stated
    [goal] = stated.requirements
    assert goal.kind == "goal"
    assert goal.text == "What the text reports does not happen any more: Users cannot log in since Monday"


@pytest.mark.parametrize("text", ["Make it better, please.", "Please fix this"])
def test_after_an_answer_a_text_that_says_nothing_is_shown_and_becomes_no_step_of_its_own(text):
    answers = [
        {"question": question_of(text), "answer": "Clicking Save does nothing. The file format must not change."}
    ]
    recon = ask("recon", text)  # It may be accepted before the question is answered.
    plan = ask("plan", text, clarifications=answers, dependencies={"recon": recon})
    assert {item["kind"]: item["text"] for item in plan["requirements"]} == {
        "scope": text.rstrip("."),
        "must_keep": "The file format must not change",
    }
    assert plan["goal"].startswith("Clicking Save does nothing")
    assert [step["name"] for step in plan["steps"] if text.rstrip(".") in step["name"]] == []


def test_after_an_answer_a_short_text_that_names_something_keeps_its_title():
    text, answer = "Login looks bad", "The page shows an empty box."
    assert ask("plan", text, clarifications=[{"question": "?", "answer": answer}])["goal"].startswith("Login looks bad")


def test_a_line_after_a_short_list_is_no_part_of_its_last_item():
    items = "- Support Python 3.8\n- Do not log names. Must be done by Friday.\n"
    text = f"Export loses the last row\n\n{items}We have 3 person-days."
    stated = {item.text: item.kind for item in read(text).stated.requirements}
    assert stated == {
        "Support Python 3.8": "goal",
        "Do not log names": "must_avoid",
        "Must be done by Friday": "deadline",
        "We have 3 person-days": "budget",
    }


def test_a_quoted_signal_has_no_white_space_around_it():
    assert '"Let"' in ask("plan", PROBLEMS["export_orders"])["basis"]


def test_a_sentence_that_says_where_code_is_or_how_often_something_happens_is_no_wish():
    stated = {item.text: item.kind for item in read(PROBLEMS["export_orders"]).stated.requirements}
    assert stated["Tests for the list are in `test/api/orders.spec.ts`"] == "scope"
    assert "Support exports them by hand from the database, about forty times a month" not in stated
    assert stated["Write an entry to the audit log for each export"] == "goal"


@pytest.mark.parametrize(
    ("prose", "software"), [("the tracker loses records", False), ("the tracker loses records late", True)]
)
def test_three_words_of_both_worlds_make_a_text_one_about_software_and_two_do_not(prose, software):
    subject = subject_of(prose, anchored=False, symptom=True, table=RULES.subject)
    assert (subject.is_software, subject.score >= RULES.subject.software.enough) == (software, True)
