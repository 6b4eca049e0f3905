"""Control characters in documents and values never reach a terminal (`tests/long/attacks/test_terminal_texts.py`)."""

from tests.long.attacks.test_terminal_texts import EVIL, call, shown  # noqa: F401 -- a fixture


def test_documents_and_values_that_have_what_a_terminal_obeys(call, tmp_path):  # noqa: F811
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / f"n{EVIL}.md").write_text(f"The market has 5000 customers {EVIL}.")
    (docs / f"l{EVIL}.html").symlink_to("/etc/passwd")
    known = ("--set", f"core.region=Chile {EVIL}", "--set", "core.currency=EUR")
    call("acquire", "market_size", f"Sheds {EVIL}", "--docs", docs, *known, "-m", "quoting:", "--no-input")
    shown(call)
