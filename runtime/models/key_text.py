"""Removing the API key from what a server wrote, since a server may echo the request that carried it.

The key is found in all its written forms, and so is a part of it: a server may cut what it echoes.
"""

from runtime.logs.redact import written_forms

MARK = "[key]"
"""Replaces the key, or a part of it."""

SECRET_MIN = 4
"""Shorter keys are not removed: they are placeholders, and occur in ordinary texts by chance."""

PART_MIN = 12
"""The shortest part of a key that is removed; also the shortest key that is removed from a model's own words."""

_BLOCK = PART_MIN // 2
_HITS_MAX = 1000


def without_key(text: str, secret: str) -> str:
    """Return the text without the key, in all its written forms, and without parts of at least `PART_MIN` characters.

    Linear in the text. A key shorter than `SECRET_MIN` is ignored.
    """
    if len(secret) < SECRET_MIN:
        return text
    raw = secret.encode()
    escaped = "".join(f"\\u{ord(character):04x}" for character in secret)
    forms = written_forms(secret) | {raw.hex(), raw.hex().upper(), escaped, secret[::-1]}
    for form in sorted(forms, key=lambda form: (-len(form), form)):
        if len(form) >= SECRET_MIN:
            text = text.replace(form, MARK)
    for form in forms:
        text = _without_parts(text, form)
    return text


def _without_parts(text: str, form: str) -> str:
    # A part of PART_MIN characters or more holds at least one whole block, wherever it begins.
    for start in range(0, len(form) - _BLOCK + 1, _BLOCK) if len(form) >= PART_MIN else ():
        block = form[start : start + _BLOCK]
        parts, end, place = [], 0, text.find(block)
        for _ in range(_HITS_MAX):
            if place < 0:
                break
            first, last = _extent(text, place, form, start, end)
            if last - first >= PART_MIN:
                parts += [text[end:first], MARK]
                end = last
            place = text.find(block, max(end, place + 1))
        tail = text[end:] if place < 0 else text[end:].replace(block, MARK)  # So many are no coincidence.
        text = "".join((*parts, tail))
    return text


def _extent(text: str, place: int, form: str, start: int, least: int) -> tuple[int, int]:
    """Return where the part of a form begins and ends in a text that has the form's block `start` at `place`."""
    before = after = 0
    while before < min(start, place - least) and text[place - before - 1] == form[start - before - 1]:
        before += 1
    while after < min(len(form) - start, len(text) - place) and text[place + after] == form[start + after]:
        after += 1
    return place - before, place + after
