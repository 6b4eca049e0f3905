"""Each family of patterns finds what asks for something, and nothing else, whatever text it stands in."""

import pytest

from actors.demands.reader import read_demands

ASKING = {
    "a prohibition names who or what it is for": (
        "Nobody outside the security team may read the dump",
        "No customer may see a price without VAT",
        "Nothing in the archive may be overwritten",
    ),
    "a permission has a limit": (
        "A user may have at most three open sessions",
        "Sessions may last 30 minutes at most",
        "The import may take an hour, not more",
    ),
    "something is limited to a number or a group": (
        "The retry queue is limited to 10,000 entries",
        "Access is restricted to members of the ops group",
        "Every tenant gets exactly one schema",
    ),
    "the scope is narrowed": (
        "Only invoices from 2024 on are in scope",
        "Just the mobile app for now",
        "Contractors are exempt from the new rule",
    ),
    "a date is given in note form": ("ETA: end of next week", "Launch is on 4 May", "Target date: 2025-03-01"),
    "a verb is rare or unknown": (
        "Reskin it in our colours",
        "Repaint the chart",
        "Calibrate the sensor against the reference",
    ),
    "a request is spoken": (
        "can u add a filter for archived projects",
        "gotta be done before the demo",
        "would love to see the diff before applying",
    ),
    "something goes on as it is": ("Old links keep working", "The wording of the mails does not change"),
    "something is refused": ("Data loss is unacceptable", "The migration cannot take longer than one hour"),
}
TELLING = {
    "a cost or a size as it is": (
        "It costs the company roughly 3,000 euros a year",
        "The server has 16 GB of RAM and 4 cores",
        "Builds take 25 minutes",
    ),
    "where something comes from": ("Images come from a CDN", "The file is kept in the old bucket"),
    "politeness": ("Enjoy your holidays!", "Have a great evening.", "Thanks. Please."),
    "what others ask for or say": (
        "Many customers have asked for this",
        "My colleague said that we should use Redis",
        'A reader wrote "you should never do that in production"',
        "The vendor told us that the next version should fix it",
    ),
    "a share of a group": (
        "Only 18 % of the users come back",
        "Only three users are affected",
        "Up to 20 % of requests fail",
    ),
    "a plural noun with its verb": (
        "Push messages arrive late",
        "Log files grow quickly",
        "Page loads hang for several seconds",
    ),
    "what was done": ("Restarted the pod, CPU is back to normal", "Rolled back to 3.2 and all is calm"),
}


def quotes(text):
    return [demand.quote for demand in read_demands(text).demands]


@pytest.mark.parametrize("family", ASKING)
def test_a_sentence_asks_where(family):
    for sentence in ASKING[family]:
        assert quotes(f"{sentence}."), sentence


@pytest.mark.parametrize("family", TELLING)
def test_a_sentence_asks_for_nothing_where_it_tells(family):
    before = "The dashboard should show the totals"
    for sentence in TELLING[family]:
        assert quotes(f"{before}. {sentence}.") == [before], sentence


def test_please_alone_is_no_demand():
    assert quotes("Make it better. Please.") == ["Make it better"]
    assert quotes("Make it better, please.") == ["Make it better, please"]


def test_the_line_before_a_log_says_nothing_of_the_paragraph_after_it():
    text = "The backup failed with:\n\n    ERROR: no space left on device\n\nWe should be warned at 80 % usage."
    assert quotes(text) == ["We should be warned at 80 % usage"]
