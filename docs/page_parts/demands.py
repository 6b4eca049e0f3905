"""The table of what the reader of demands finds in the texts of `tests/demands/texts/`."""

from page_parts.markdown import table
from tests.demands.evaluation import measured, sets, texts


def demands() -> str:
    """Return the shares of each set of texts."""
    rows = []
    for name in sets():
        every = measured(name)
        rows.append(
            (
                name.replace("_", " "),
                len(texts(name)),
                every.demands,
                f"{every.recall:.1%}",
                f"{every.precision:.1%}",
                f"{every.kind_share:.1%}",
            )
        )
    return table(("Set", "Texts", "Demands", "Found", "Correct", "Correct kind"), rows)
