"""The reader of demands: what it takes, what it leaves, and that its places are right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.demands.blocks import plain, sentences
from actors.demands.patterns import instructs
from actors.demands.reader import DEMANDS_MAX, POLICY, POLICY_LENGTH_MIN, is_policy, read_demands
from actors.values.requirements import KINDS, requirement_id
from tests.demands.evaluation import FOLDER, measured, sets, shares, texts
from tests.support.examples import examples

WORDS = st.sampled_from(
    (
        *("-", "*", "1.", "#", "##", ">", "|", "```", "**", "_", "[", "]", "[x]", ":", ";", ".", "?", "!", "(", ")"),
        *("Please", "must", "not", "do", "should", "never", "No", "keep", "by", "Friday,", "within", "0.5", "s", "at"),
        *("e.g.", "v2.1.0", "app.py", "Requirements:", "Constraints:", "most", "3", "The", "export", "is", "slow"),
        *("Traceback", "(most", "recent", "call", "last):", "\n", "\n\n", "\t", "Wir", "müssen", "und", "nicht", "der"),
        *("if", "we", "have", "to", "漢字", "é", "\u2028", "\r\n", "\x00", "Log", "all", "bodies"),
    )
)
TEXTS = st.one_of(
    st.text(max_size=400), st.lists(WORDS, max_size=80).map(" ".join), st.lists(WORDS, max_size=80).map("".join)
)


@examples(100)
@given(TEXTS)
def test_every_quote_stands_in_the_text_at_its_place(text):
    reading = read_demands(text)
    assert len(reading.demands) <= DEMANDS_MAX
    for demand in reading.demands:
        assert demand.quote == " ".join(text[demand.start : demand.end].split())
        assert demand.id == requirement_id(demand.quote)
    assert len({demand.id for demand in reading.demands}) == len(reading.demands)
    assert read_demands(text) == reading


def test_a_text_with_too_many_demands_says_so():
    reading = read_demands(
        "\n".join(f"- The field number {number} must be kept." for number in range(DEMANDS_MAX + 50))
    )
    assert len(reading.demands) == DEMANDS_MAX
    assert "more than 200 demands" in reading.unread


def test_a_statement_before_the_first_demand_of_a_paragraph_is_its_background():
    """How things are is no demand because demands follow it."""
    for statement in ("In Arabic the sidebar overlaps the table", "OrderService has 3,100 lines"):
        quotes = [demand.quote for demand in read_demands(f"{statement}. It should be mended. Keep the names.").demands]
        assert quotes == ["It should be mended", "Keep the names"]


def test_a_statement_after_a_demand_says_how_and_one_that_tells_a_fact_does_not():
    told = "The shop opened in May. The old search was slow. It had two servers."
    asks, states = "Searches should answer within one second", "Results appear in the order of relevance"
    assert [demand.quote for demand in read_demands(f"{told} {asks}. {states}.").demands] == [asks, states]


def test_a_short_sentence_is_in_the_language_of_the_one_before():
    assert read_demands("Der Export ist kaputt. Bitte beheben.").unread.startswith("2 sentences are not English")


def test_four_letters_of_another_script_show_another_language_and_three_do_not():
    assert read_demands("修正する").unread.startswith("One sentence is not English")
    assert read_demands("要修正").unread == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use a checker, e. g. the linter. Keep it.", ["Use a checker, e. g. the linter.", "Keep it."]),
        ("fix it. then keep the names.", ["fix it.", "then keep the names."]),
        ("Ask J. Smith first. Then merge.", ["Ask J. Smith first.", "Then merge."]),
    ],
)
def test_a_full_stop_after_a_single_letter_ends_no_sentence_and_after_a_short_word_it_does(text, expected):
    assert [sentence.written for sentence in sentences(text, 0, len(text))] == expected


def test_a_verb_and_instead_are_an_instruction_though_the_verb_may_be_a_noun():
    assert instructs("email instead")
    assert not instructs("the email instead")


def test_a_link_whose_text_is_a_verb_is_no_instruction():
    assert read_demands("The result:\n\n- [test][test_login]\n- [fix](https://example.org/1)\n").demands == ()


def test_a_long_link_does_not_make_the_wrapped_lines_beside_it_sentences_of_their_own():
    text = f"A caller might sort rows\nwithout checking that the\nsort is stable.\nSee https://example.org/{'a' * 40}"
    assert [sentence.written for sentence in sentences(text, 0, len(text))] == [
        "A caller might sort rows without checking that the sort is stable.",
        f"See https://example.org/{'a' * 40}",
    ]


@pytest.mark.parametrize(
    ("small", "found"),
    [
        ("never delete rows", True),
        ("never", False),
        ("do not delete rows", True),
        ("do it", True),
        ("do well", False),
        ("let's go", True),
        ("add and test it", True),
        ("add and", True),
        ("review or merge it", True),
        ("check or", False),
        ("reskin it in blue", True),
        ("hopefully it works", False),
        ("please add a filter", True),
        ("please", False),
        ("if the list is empty, show a hint", True),
        ("if the list is empty, it is grey", False),
        ("", False),
    ],
)
def test_a_sentence_that_begins_with_a_verb_is_an_instruction(small, found):
    assert instructs(small) is found


RULES = "\n".join(
    f"- You must not give out the code of customer {number}. Transfer the call to a person." for number in range(40)
)
SUPPORT = "# Support Agent Policy\n\nAs an agent, you can help customers with bills.\n\n"


@pytest.mark.parametrize(
    "opening",
    [
        SUPPORT,
        "# One procedure for all tickets\n\nFollow it.\n\n",
        "# Introduction\nThis document is a comprehensive guide for agents.\n\n",
        "Support manual\n\n",
    ],
)
def test_the_rules_of_a_policy_or_a_manual_are_no_demands_and_the_reading_says_so(opening):
    assert read_demands(opening + RULES) == ((), POLICY)


@pytest.mark.parametrize(
    "text",
    [
        f"# Build the chat\n\n{RULES}",
        f"{SUPPORT}{RULES}\n\nPlease write the tests of this policy.",
        f"{SUPPORT}{RULES}\n\nWe need a bot that keeps to it.",
        f"# Update the support policy\n\n{RULES}",
        f"# Password policy\n\n{RULES[: POLICY_LENGTH_MIN - 100]}",
    ],
)
def test_a_text_that_asks_for_work_has_demands_though_it_quotes_a_policy(text):
    """So has a short one: a page of rules under a title is a specification."""
    assert len(read_demands(text).demands) > 10


LEAST = {
    "development": (0.95, 0.93),
    "second_development": (0.95, 0.93),
    "third_development": (0.91, 0.94),
    "fourth_development": (0.92, 0.91),
    "held_out": (0.88, 0.89),
}
"""The least recall and precision of each set."""


@pytest.mark.parametrize("name", sets())
def test_the_reader_finds_the_demands_of_a_set_and_hardly_more(name):
    print(shares(name))
    recall, precision = LEAST[name]
    assert measured(name).recall >= recall, measured(name).missed
    assert measured(name).precision >= precision, measured(name).wrong


@pytest.mark.parametrize("name", sets())
def test_the_demands_by_hand_stand_in_their_texts(name):
    for text in texts(name):
        folded = " ".join(plain(text["text"]).split())
        for demand in text["demands"]:
            assert " ".join(plain(demand["quote"]).split()) in folded, (text["id"], demand["quote"])
            assert demand["kind"] in KINDS


def test_no_text_that_asks_for_work_is_taken_for_a_policy():
    assert not [text["id"] for name in sets() for text in texts(name) if is_policy(text["text"])]


def test_there_are_enough_texts_and_each_has_a_name():
    assert (FOLDER / "development.yaml").exists()
    for name in sets():
        names = [text["id"] for text in texts(name)]
        assert len(names) >= 60
        assert len(names) == len(set(names))
