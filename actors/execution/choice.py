"""What the policy's table says about a failure of an execution: the row, and how it applies here. Pure.

The table is that of planning runs (`actors.policy.table`); an execution has no steps of a workflow to go back to, so
the rows' targets have no meaning here, and their levels do.
"""

from collections.abc import Sequence
from typing import NamedTuple

from actors.execution.state import Settled
from actors.policy.table import BACKOFF_MAX, BacktrackLevel, Policy, Row
from actors.values.findings import Finding


class Choice(NamedTuple):
    """What a row says."""

    row: Row
    """The row that matched."""
    finding: Finding
    """The finding that matched, or else the first one."""
    known: bool
    """Whether the row names the finding, one of its tags or a repetition; False for one that matches everything."""

    @property
    def level(self) -> BacktrackLevel:
        """How far back the row goes."""
        return self.row.level

    def delay_seconds(self, earlier: int) -> float:
        """Return the back-off before a retry, doubled for each of the earlier ones in a row."""
        if self.row.level is not BacktrackLevel.LOCAL_RETRY:
            return 0.0
        return float(min(BACKOFF_MAX, self.row.backoff_seconds * 2 ** min(earlier, 10)))


def choose(policy: Policy, findings: Sequence[Finding], *, repeated: bool = False) -> Choice:
    """Return what the first matching row says about findings, of which there is at least one.

    `repeated` says that the same failure has come several times in a row.
    """
    for row in policy.rows:
        finding = next((finding for finding in findings if row.matches(finding)), None)
        if finding is not None or (row.repeated and repeated) or row.always:
            return Choice(row, finding or findings[0], not row.always)
    raise AssertionError("a policy's last row matches everything")


def signature_of(findings: Sequence[Finding]) -> frozenset[tuple[str, str]]:
    """Return the codes and places of findings: failures with the same ones count as the same failure."""
    return frozenset((finding.code, finding.where) for finding in findings)


def streak(history: Sequence[Settled], step: str, findings: Sequence[Finding]) -> int:
    """Return how many failures of a step in a row, this one included, have the same codes and places."""
    current, count = signature_of(findings), 1
    for past in reversed(history):
        if past.step != step:
            continue
        if past.signature != current:
            break
        count += 1
    return count
