"""The redactor removes secrets from every text before the text is written anywhere.

It finds secrets in two ways. It knows the secrets of this process, and finds them unchanged, base64-encoded (at any
alignment), percent-encoded or escaped for JSON. Other secrets are recognised by their form. Every pattern takes linear
time: its quantifiers are bounded, or a match consumes the text that it has scanned.
"""

import base64
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote

MARK = "[redacted]"

SECRET_MIN = 6
"""The minimum length of a secret, in characters. Shorter values are not redacted, because they occur in ordinary texts
by chance."""

MARGIN = 8192
"""The smallest number of characters that `redact_beginning` reads beyond the requested length, so that it finds a
secret that crosses the end."""

DEPTH_MAX = 64
"""The number of levels of nesting that `Redactor.value` follows in a JSON value. It replaces parts that lie deeper."""

_NAME = (
    r"(?:password|passwd|passphrase|secret|credentials?|private[_-]?key|api[_-]?key|access[_-]?key|secret[_-]?key"
    r"|(?:access|auth|refresh|session|id|bot|api|bearer)[_-]?token)(?:[_-]\w{1,30})?"
)
_ASSIGN = r"""(?:\\?["'])?\s{0,3}[:=]\s{0,3}\\?"""

_FIELD = re.compile(rf"\w{{0,60}}{_NAME}|(?:proxy-)?authorization|(?:set-)?cookie", re.IGNORECASE)
_VARIABLE = re.compile(rf"\w{{0,60}}{_NAME}|(?:\w{{0,60}}_)?(?:token|pat|key)", re.IGNORECASE)

_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)"
        ),
        MARK,
    ),
    # scheme://user:password@host
    (re.compile(r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/@:]{0,256}:)[^\s/]{1,512}@"), rf"\1{MARK}@"),
    # Authorization: Basic …, Bearer …
    (re.compile(r"(?i)(\b(?:basic|bearer|digest|token)\s{1,3})(?=[\w.~+/-]{0,200}\d)[\w.~+/-]{16,}=*"), rf"\1{MARK}"),
    (
        re.compile(
            r"(?i)(\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:basic|bearer|digest|token)\s{1,3})[^\s\"',]{6,}"
        ),
        rf"\1{MARK}",
    ),
    # JSON web tokens
    (re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*"), MARK),
    # OpenAI, Anthropic and their like
    (re.compile(r"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]{0,80}\d)[\w-]{16,}"), MARK),
    # AWS access key ids
    (re.compile(r"(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])"), MARK),
    # GitHub, GitLab, Slack, Google, Hugging Face, Stripe
    (re.compile(r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|(?<![A-Za-z0-9])glpat-[\w-]{16,}"), MARK),
    (re.compile(r"(?<![A-Za-z0-9])(?:xox[abeoprs]-[\w-]{10,}|AIza[\w-]{30,}|hf_[A-Za-z0-9]{20,})"), MARK),
    (re.compile(r"(?<![A-Za-z0-9])[rs]k_(?:live|test)_[A-Za-z0-9]{10,}"), MARK),
    # password=…, "api_key": "…", ?key=…
    (re.compile(rf"(?i)({_NAME}{_ASSIGN}\")(?!\[redacted\])(?:[^\"\n\\]|\\(?!\"))+"), rf"\1{MARK}"),
    (re.compile(rf"(?i)({_NAME}{_ASSIGN}')(?!\[redacted\])(?:[^'\n\\]|\\(?!'))+"), rf"\1{MARK}"),
    (re.compile(rf"(?i)({_NAME}{_ASSIGN})(?!\[redacted\])(?:[^\s\"'\\&,;]|\\(?![\"'])){{6,}}"), rf"\1{MARK}"),
    (re.compile(r"(?i)([?&](?:key|token|sig|signature|code)=)[^\s&#\"']{6,}"), rf"\1{MARK}"),
    (re.compile(r"(?i)(\b(?:key|token)=)(?=[A-Za-z_-]{0,80}\d)[\w-]{20,}"), rf"\1{MARK}"),
)


def secrets_in(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the values of the variables whose names indicate a secret, such as `OPENAI_API_KEY`.

    A variable with headers, such as `OTEL_EXPORTER_OTLP_HEADERS`, contains a secret in each `NAME=VALUE`.
    """
    secrets = {value for name, value in environ.items() if _VARIABLE.fullmatch(name)}
    for name, value in environ.items():
        if name.upper().endswith("_HEADERS"):
            values = [pair.partition("=")[2].strip() for pair in value.split(",")]
            secrets |= {value, *values, *map(unquote, values)} - {""}
    return frozenset(secrets)


class Redactor:
    """Replaces secrets by `MARK`: the given secrets in all their encoded forms, and texts that look like a secret.

    Given secrets shorter than `SECRET_MIN` characters are ignored. The time is linear in the length of the text. If in
    doubt, the redactor removes a word: a text about passwords may lose one.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= SECRET_MIN for form in written_forms(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._exact = re.compile("|".join(map(re.escape, longest_first))) if forms else None
        self._margin = max([MARGIN, *map(len, longest_first[:1])])

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        if self._exact is not None:
            text = self._exact.sub(MARK, text)
        for pattern, replacement in _SHAPES:
            text = pattern.sub(replacement, text)
        return text

    def redact_beginning(self, text: str, length: int) -> str:
        """Return at most the first `length` characters of a text, without secrets.

        The time does not depend on the length of the rest.
        """
        read = text[: length + self._margin]
        shown = self.text(read)
        # A secret may begin at the end of what was read, so the part that was read beyond the length is cut.
        return shown[: max(0, len(shown) - max(0, len(read) - length))]

    def value(self, value: Any) -> Any:
        """Return a copy of a JSON value without secrets.

        If the name of a field indicates a secret, its whole text is replaced.

        Never fails: values that JSON does not have (other objects, numbers that are not finite) become text.
        """
        return self._value(value, DEPTH_MAX)

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        if isinstance(value, Mapping | list | tuple | set | frozenset) and depth == 0:
            return MARK
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._field(str(key), item, depth - 1) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._value(item, depth - 1) for item in value]
        return self.text(str(value))

    def _field(self, name: str, item: Any, depth: int) -> Any:
        if isinstance(item, str) and item and _FIELD.fullmatch(name):
            return MARK
        return self._value(item, depth)


def written_forms(secret: str) -> set[str]:
    """Return the forms of a secret: unchanged, escaped for JSON, percent-encoded, and in base64 at any alignment."""
    raw = secret.encode(errors="surrogatepass")
    quoted = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    lower = {re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), form) for form in quoted}
    return (
        {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]} | quoted | lower | _base64(raw)
    )


def _base64(raw: bytes) -> set[str]:
    """Return, for each of the three possible alignments, the base64 characters that depend only on these bytes."""
    forms = set()
    for shift, skipped in ((0, 0), (1, 2), (2, 3)):
        encoded = base64.b64encode(bytes(shift) + raw).decode()
        core = encoded[skipped : (shift + len(raw)) * 8 // 6]
        forms |= {core, core.translate({ord("+"): "-", ord("/"): "_"})}
    return forms
