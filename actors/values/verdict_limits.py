"""The limits of a recorded verdict: how many findings it has, how long its texts are, how large it is. Pure.

Every verdict is cut before it is recorded, those of plug-ins included, so that none is too large for the journal. A
verdict within the limits is returned as it is.
"""

from collections.abc import Sequence

from actors.values.findings import Code, Finding, Verdict
from actors.values.format import shortened

FINDINGS_MAX = 100
"""The most findings of a verdict, without the one that counts those left out."""
TEXT_MAX = 4_000
"""Characters of a message, a place or a code."""
TOKENS_MAX = 1_000
"""The most tokens of one finding."""
TRACE_CHARACTERS_MAX = 100_000
"""Characters of a trace. A longer one is left out, since a part of it cannot be replayed."""
VERDICT_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of a recorded verdict as JSON; the journal takes events of up to 64 MiB."""


def bounded(verdict: Verdict) -> Verdict:
    """Return the verdict, cut to the limits. One that is still too large becomes a rejection, `verdict.too_large`."""
    if not (verdict.findings or verdict.parts or verdict.facts) and len(verdict.guard) <= TEXT_MAX:
        return verdict  # Most verdicts are like this, and measuring one takes longer than all the rest of recording it.
    shorter = _shortened(verdict)
    try:
        size = len(shorter.model_dump_json())
    except (ValueError, TypeError):  # JSON cannot hold it: whoever writes the verdict reports that.
        return shorter
    if size <= VERDICT_BYTES_MAX:
        return shorter
    text = f"The verdict has {size:,} characters, more than {VERDICT_BYTES_MAX:,}; make the artifact much smaller."
    finding = Finding(code=Code.VERDICT_TOO_LARGE, message=text)
    return Verdict(
        guard=shorter.guard[:TEXT_MAX], score=min(shorter.score, 0.99), findings=(finding,), fatal=shorter.fatal
    )


def _shortened(verdict: Verdict) -> Verdict:
    findings = tuple(_short(finding) for finding in limited(verdict.findings))
    parts = tuple(_shortened(part) for part in verdict.parts)
    if all(map(_same, findings, verdict.findings)) and all(map(_same, parts, verdict.parts)):
        return verdict
    return verdict.model_copy(update={"findings": findings, "parts": parts})


def _same(new: object, old: object) -> bool:
    return new is old


def limited(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return at most `FINDINGS_MAX` findings, errors first, and then one that counts the findings left out.

    The last finding is an error iff an error was left out.
    """
    if len(findings) <= FINDINGS_MAX or (len(findings) == FINDINGS_MAX + 1 and findings[-1].code == Code.MORE_FINDINGS):
        return findings
    ordered = sorted(findings, key=lambda finding: finding.severity != "error")
    kept, left_out = ordered[:FINDINGS_MAX], ordered[FINDINGS_MAX:]
    text = f"and {len(left_out):,} more findings; correct these first."
    return (*kept, Finding(code=Code.MORE_FINDINGS, message=text, severity=left_out[0].severity))


def _short(finding: Finding) -> Finding:
    trace = finding.trace
    changes = {
        "code": shortened(finding.code, TEXT_MAX),
        "message": shortened(finding.message, TEXT_MAX),
        "where": shortened(finding.where, TEXT_MAX),
        "tokens": _cut_tokens(finding.tokens),
        "trace": trace if trace is None or sum(map(len, trace)) <= TRACE_CHARACTERS_MAX else None,
    }
    changed = {name: value for name, value in changes.items() if value is not getattr(finding, name)}
    return finding.model_copy(update=changed) if changed else finding


def _cut_tokens(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first tokens, each cut; the same tuple if that changes nothing."""
    if len(tokens) <= TOKENS_MAX and sum(map(len, tokens)) <= TEXT_MAX:
        return tokens
    return tuple(shortened(token, TEXT_MAX // 4) for token in tokens[:TOKENS_MAX])
