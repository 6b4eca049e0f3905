"""How a belief policy reads a rejection: the row that matches, and whether its step is retried first. Pure."""

from collections.abc import Sequence

from actors.policy.belief_table import BeliefTable
from actors.policy.history import Past
from actors.policy.table import Policy, Row
from actors.values.findings import Verdict


def belief_row(verdict: Verdict, policy: Policy) -> str:
    """Return the id of the row that matches a rejection; empty without a belief, or where that row decides alone.

    The rows about repeated failures are left out, since the belief counts repeats itself.
    """
    if policy.belief is None:
        return ""
    row = matched_row(verdict, policy).id
    return "" if row in policy.belief.rules else row


def matched_row(verdict: Verdict, policy: Policy) -> Row:
    """Return the first row that matches a rejection, of those that are not about repeated failures."""
    errors = verdict.errors
    for row in policy.rows:
        if row.repeated or row.repeats:
            continue
        if any(map(row.matches, errors)) or (row.fatal and verdict.fatal) or row.always:
            return row
    raise AssertionError("a policy's last row matches everything")


def mends_left(step: str, row: str, belief: BeliefTable | None, history: Sequence[Past]) -> bool:
    """Return whether a failure of a step is retried before the belief is asked (`BeliefTable.mends`).

    The retries for the row are counted since the steps above were redone for a failure of the step.
    """
    most, retries = 0 if belief is None else belief.mends.get(row, 0), 0
    for past in reversed([past for past in history if past.step == step]):
        if past.up > 0:
            break
        retries += past.mended == row
    return retries < most
