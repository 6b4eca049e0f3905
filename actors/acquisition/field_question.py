"""The question about a field that has none of its own: a sentence made of its label, by the words of the label. Pure.

The label is English. It is a noun phrase (`requests per month`), an indirect question (`whether the roof is flat`), a
question, or a name (`win_rate`). Its head noun decides between one, several, and what is measured and not counted.
"""

import re

from actors.acquisition.profile import FieldSpec
from actors.acquisition.schema import Schema
from actors.demands.verbs import word_set
from actors.values.question_form import one_line

LABEL_MAX = 300
"""Characters of a label that are in the question."""

_PHRASE = re.compile(r"[^\W\d_][\w '\u2019(),.%/&+-]*")
_WORD = re.compile(r"[^\W\d_][^\W_]*(?:['\u2019-][^\W_]+)*")
_INDIRECT = ("whether", "how", "which", "what", "when", "where", "who", "why")
_DETERMINERS = word_set("the a an this that these those my your our their his her its all each every any some no")
_BEHIND_HEAD = word_set(
    "of per for in on at to from by with without as than above below over under between among within during after",
    "before since until into and or that which who whose where when is are",
)
_PARTICIPLES = word_set("sent built sold made paid spent lost held kept used left taken given known driven won")
_MEASURED = word_set(
    "data traffic energy power electricity water heat money work revenue income storage memory waste fuel food space",
    "equipment software hardware rain snow steel concrete",
)
_SINGULARS = word_set("gas lens series species news canvas atlas bias chaos mathematics physics economics")
_PLURALS = word_set("people children men women criteria media feet teeth mice")


def field_question(schema: Schema, path: str) -> str:
    """Return the question about a field: its own, else one made of its label."""
    spec = schema.fields[path]
    return one_line(schema.filled(spec.question)) or question_of(spec, counted=_is_counted(schema, path))


def question_of(spec: FieldSpec, *, counted: bool = True) -> str:
    """Return the question about a field of this label; `counted` says that its number counts things."""
    label = one_line(spec.label, LABEL_MAX).rstrip(" .:")
    first = label.split(" ", 1)[0].casefold()
    if label.endswith("?"):
        return label
    if first in _INDIRECT:
        return f"Can you say {label[:1].lower()}{label[1:]}?"
    if not _PHRASE.fullmatch(label) or not label.isascii() or "_" in label:
        return f"What is the value of '{label}'?"
    known = first in _DETERMINERS or first.endswith(("'s", "s'"))
    named = label if known else f"the {label}"
    if spec.type == "choice" and {choice.casefold() for choice in spec.choices} == {"yes", "no"}:
        return f"Is '{label}' true?"
    if spec.type == "choice":
        return f"Which of these is right for {named}?"
    head = _head(label)
    if spec.type == "number" and head.casefold() in _MEASURED:
        return f"What is the amount of {label}?"
    if not _is_plural(head):
        return f"What is {named}?"
    if spec.type == "number" and counted:
        return f"What is the number of {label}?"
    return f"What are {named}?"


def _head(label: str) -> str:
    """Return the noun of a phrase that the rest describes: the last before a preposition, clause or bracket."""
    words: list[str] = []
    for word in _WORD.findall(re.split(r"[(,]", label, maxsplit=1)[0]):
        if words and word.casefold() in _BEHIND_HEAD:
            break
        words.append(word)
    while len(words) > 1 and (words[-1].endswith("ed") or words[-1].casefold() in _PARTICIPLES):
        words.pop()
    return words[-1] if words else ""


def _is_plural(noun: str) -> bool:
    small = noun.casefold()
    if small in _PLURALS:
        return True
    if noun[:-1].isupper():
        return noun.endswith("s")  # As in `GPUs`, but not in `DNS`.
    return small.endswith("s") and small not in _SINGULARS and not small.endswith(("ss", "us", "is", "'s"))


def _is_counted(schema: Schema, path: str) -> bool:
    """Tell whether a field's number counts things: it has no unit, or begins with a unit that nothing converts into."""
    unit = schema.unit(path)
    if unit is None:
        return False  # It is money, in a currency that is not known yet.
    counts = unit.split("/")[0].strip()
    return not counts or schema.profile.units.get(counts) == ""
