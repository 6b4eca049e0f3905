"""Amounts, times and counts in words, and short forms of texts. Pure."""

from datetime import UTC, datetime

from runtime.core.ledger import MICRO, Amount


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 call` or `2,400 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def money(usd: float | None) -> str:
    """Return dollars, with the cents that matter; None is said to be unknown, which is never zero."""
    if usd is None:
        return "cost unknown"
    return f"${usd:.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


def format_usage(amount: Amount, *, known: bool) -> str:
    """Return what was used: `3 calls, 2,400 tokens, $0.0123`."""
    shown = f"{format_count(amount.calls, 'call')}, {format_count(amount.tokens, 'token')}"
    return f"{shown}, {money(amount.micro_usd / MICRO)}" if known else shown


_LAST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def moment(at: float) -> datetime:
    """Return a time in UTC; for one that no calendar has, as a damaged row may hold, the nearest from 1970 to 9999."""
    return datetime.fromtimestamp(min(max(at, 0.0), _LAST), UTC)


def stamp(at: float) -> str:
    """Return a time as ISO 8601 in UTC, to the second."""
    return moment(at).strftime("%Y-%m-%dT%H:%M:%SZ")


def clock(at: float) -> str:
    """Return the time of day in the local time zone, to the second."""
    return moment(at).astimezone().strftime("%H:%M:%S")


def ago(seconds: float) -> str:
    """Return how long ago, in the largest unit that fits."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(max(0, seconds))}s"


def shorten(text: str, limit: int) -> str:
    """Return the text, cut to at most `limit` characters with an ellipsis at the end of what was cut."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def title_of(problem: str) -> str:
    """Return the first line with words, without Markdown's marks, cut between words to 80 characters."""
    lines = (line.strip("#*_= \t-") for line in problem.splitlines())
    title = next((" ".join(line.split()) for line in lines if line), "")
    if len(title) <= 80:
        return title
    head, blank, _ = title[:79].rpartition(" ")
    return f"{head if blank else title[:79]}…"
