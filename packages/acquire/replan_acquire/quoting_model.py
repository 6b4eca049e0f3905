"""The model `quoting:`, which fills a schema without a language model.

It quotes sentences that state a number. It reads the material of a request
(`replan_acquire.acquisition.rules.material`), and never invents a value. A sentence states a number for a field if it
has words of the field, and a number with a fitting unit.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
import trio

from replan_acquire.quantities.quantity import Refusal
from replan_acquire.quantities.quoted import Source
from replan_acquire.quantities.unit_forms import find_form, with_words
from replan_acquire.quantities.units import UnitTable
from replan_acquire.quantities.whole import Whole, whole_quantity
from replan_acquire.quantities.written import WrittenNumber, find_numbers
from runtime.core.errors import UsageProblem
from runtime.core.ledger import FREE, Price, Usage
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply

SENTENCES_MAX = 400
SENTENCE_CHARACTERS_MAX = 500
"""The largest number of characters in a sentence that is read. A longer sentence states no single value."""

_ENDS = re.compile(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z0-9À-Þ])|\n+")
_ORDERS = re.compile(
    r"\b(ignore|disregard|forget|override)\b.{0,60}\b(above|previous|prior|instruction|prompt|rule)",
    re.IGNORECASE | re.DOTALL,
)
"""Matches an instruction to a language model. The text from the instruction to the end of its paragraph is not read."""
_PARAGRAPH = re.compile(r"\n\s*\n")
_OF_OTHERS = re.compile(r"\b(?:of|from|among|with|by|per)\b|[;:]", re.IGNORECASE)
"""Matches words and signs which show that the number before them counts something else, as in `412 managers of
buildings`."""
_YEAR = re.compile(r"(1[89]|20)\d\d")


@dataclass(frozen=True, slots=True)
class Sought:
    """The description of a number that is searched for in a text."""

    words: tuple[str, ...]
    """The phrases that name the number, the most specific first."""
    unit: str
    units: Mapping[str, str]
    """The profile's own units and their meanings, as `replan_acquire.quantities.units.UnitTable` expects them."""
    places: tuple[str, ...] = ()
    """The names of the place, such as a country, that the number should be about."""


@dataclass(frozen=True, slots=True)
class StatedNumber:
    """A number that a text states."""

    value: str
    """The number as the text writes it."""
    quote: str
    confidence: float
    """The confidence from 0 to 1, which depends on how well the words, the unit and the place fit."""


def find_stated_number(sought: Sought, source: Source) -> StatedNumber | None:
    """Return the number in a text that fits the description best; None if no sentence states a fitting number."""
    text = _remove_orders(source.text)
    sought = replace(sought, units=with_words(sought.units, sought.words))
    table, best = UnitTable(sought.units), None
    is_of_place = any(_names(text, place) for place in sought.places)
    for sentence, share in _sentences(text):
        found = _find_number(sought, replace(source, text=sentence), table)
        if found is None:
            continue
        here = any(_names(sentence, place) for place in sought.places)
        factor = share * (1.0 if here or not sought.places else 0.9 if is_of_place else 0.6)
        found = StatedNumber(found.value, found.quote, found.confidence * factor)
        if best is None or found.confidence > best.confidence:
            best = found
    return best


def _remove_orders(text: str) -> str:
    """Return a text without instructions to language models (`_ORDERS`).

    Each paragraph is cut before its first instruction.
    """
    paragraphs = _PARAGRAPH.split(text)
    return "\n\n".join(
        paragraph[: order.start()] if (order := _ORDERS.search(paragraph)) else paragraph for paragraph in paragraphs
    )


def _sentences(text: str) -> Iterator[tuple[str, float]]:
    """Yield each sentence or line of a text with a factor for the confidence.

    Then yield pairs of neighbouring sentences with a smaller factor, because a heading may precede the sentence with
    its number.
    """
    ends = [0, *(match.end() for match in _ENDS.finditer(text)), len(text)]
    parts = [(start, end) for start, end in itertools.pairwise(ends) if text[start:end].strip()]
    parts = parts[:SENTENCES_MAX]
    for start, end in parts:
        yield text[start:end].strip(), 1.0
    for (start, middle), (_, end) in itertools.pairwise(parts):
        # A part that has a number is not a heading for the number of the next part.
        if not re.search(r"\d", _YEAR.sub("", text[start:middle])):
            yield text[start:end].strip(), 0.7


def _find_number(sought: Sought, source: Source, table: UnitTable) -> StatedNumber | None:
    """Return the number that one sentence of a text states; None if it states no number."""
    sentence = source.text
    if len(sentence) > SENTENCE_CHARACTERS_MAX or _ORDERS.search(sentence):
        return None
    for rank, word in enumerate(sought.words):
        place = _position_of(sentence, word)
        if place is None:
            continue
        fitting = []
        for number in find_numbers(sentence, source.mark, source.language):
            whole = whole_quantity(sentence, number, table, mark=source.mark, language=source.language)
            sure = _unit_fit(sought, sentence, number, whole, table)
            if sure > 0 and not place[0] <= number.start < place[1] and not _counts_others(sentence, whole, place):
                fitting.append((number, sure))
        if fitting:
            number, sure = min(fitting, key=lambda item: (-item[1], _distance(item[0], place)))
            value = sentence[number.start : number.end].strip()
            return StatedNumber(value, sentence, sure * max(0.5, 0.95 - 0.05 * rank))
    return None


def _counts_others(sentence: str, whole: Whole, place: tuple[int, int]) -> bool:
    """Return whether a number without a unit comes before the phrase `place`, but counts other things."""
    if whole.units or whole.end > place[0]:
        return False
    return _OF_OTHERS.search(sentence[whole.end : place[0]]) is not None


def _unit_fit(sought: Sought, sentence: str, number: WrittenNumber, whole: Whole, table: UnitTable) -> float:
    """Return how well a quantity's unit fits, from 0 (not at all) to 1 (the unit is written in full)."""
    if whole.doubt or len(number.readings) > 1:
        return 0.0
    if not whole.units and _YEAR.fullmatch(sentence[number.start : number.end]):
        return 0.0
    form = find_form(whole.units, sought.unit, sought.unit, table, sought.units)
    if isinstance(form, Refusal):
        return 0.0
    if not whole.units:
        return 0.9
    return 0.8 if any(name not in sought.units for name in form.left_out) else 1.0


def _position_of(sentence: str, word: str) -> tuple[int, int] | None:
    """Return the position of a phrase in a sentence; None if the sentence does not contain the phrase.

    The endings of words are not compared.
    """
    parts = [re.escape(part) for part in word.split()]
    if not parts:
        return None
    found = re.search(r"(?<!\w)" + r"\w{0,3}\W+".join(parts) + r"\w{0,3}(?!\w)", sentence, re.IGNORECASE)
    return (found.start(), found.end()) if found else None


def _names(text: str, words: str) -> bool:
    """Return whether a text contains a phrase. The endings of words are ignored."""
    return _position_of(text, words) is not None


def _distance(number: WrittenNumber, place: tuple[int, int]) -> int:
    return min(abs(number.start - place[1]), abs(place[0] - number.end))


CAVEATS_MAX = 5


def _decision(material: Mapping[str, Any]) -> dict[str, Any]:
    """Return the decision to search for the first required field without a value for which a search is allowed.

    If there is none, return the decision to ask about the first such field about which a question is allowed.
    Otherwise, return the decision to finish.
    """
    open_fields = [field for field in _fields(material) if "value" not in field and not field.get("made_of_others")]
    required = [field for field in open_fields if field.get("required")]
    for field in required:
        if field.get("source") != "user" and field.get("may_search") and field.get("suggested_query"):
            return _make_decision("search", field, query=field["suggested_query"])
    for field in required:
        if field.get("may_ask"):
            return _make_decision("ask_user", field)
    return {"action": "finish", "target_field": "", "query": "", "question": "", "reasoning": "nothing is left to do"}


def _make_decision(action: str, field: Mapping[str, Any], query: str = "") -> dict[str, Any]:
    reason = f"{field.get('label', '')} has no value yet"
    return {"action": action, "target_field": field["path"], "query": query, "question": "", "reasoning": reason}


def _observation(material: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that passages state for the number fields, with the sentences as quotes.

    If some of a field's values are from passages that name the run's place, only these values are returned.
    """
    places = [text for text in material.get("place", ()) if isinstance(text, str)]
    values = []
    for field in _fields(material):
        if field.get("type") != "number":
            continue
        found = [
            reading
            for passage in material.get("passages", ())
            if (reading := _make_observation(field, passage, material))
        ]
        here = [reading for reading, is_here in found if is_here]
        values += here if here and places else [reading for reading, _ in found]
    return {"values": values}


def _make_observation(
    field: Mapping[str, Any], passage: Mapping[str, Any], material: Mapping[str, Any]
) -> tuple[dict[str, Any], bool] | None:
    """Return the value that a passage states for a field, and whether the passage names the run's place; or None."""
    places = tuple(text for text in material.get("place", ()) if isinstance(text, str))
    words = tuple(dict.fromkeys((*field.get("words", ()), field.get("label", ""))))
    sought = Sought(words, field.get("unit", ""), material.get("units", {}), places)
    source = Source(str(passage.get("text", "")), passage.get("decimal_mark", ""), passage.get("language", ""))
    found = find_stated_number(sought, source)
    if found is None:
        return None
    value = {
        "field": field["path"],
        "value": found.value,
        "unit": field.get("unit", ""),
        "quote": found.quote,
        "source": passage.get("source", ""),
        "confidence": round(found.confidence, 2),
    }
    named = " ".join(str(passage.get(key, "")) for key in ("title", "source", "text"))
    return value, any(_names(named, place) for place in places)


def _decomposition(_: Mapping[str, Any]) -> dict[str, Any]:
    """Return an empty decomposition, because the model does not know the parts of a quantity."""
    return {"formula": "", "fields": []}


def _review(material: Mapping[str, Any]) -> dict[str, Any]:
    """Return a review that proposes to finish, with the errors of the calculation as caveats."""
    calculation = material.get("calculation", {})
    errors = calculation.get("errors", ()) if isinstance(calculation, Mapping) else ()
    caveats = [str(error.get("message", "")) for error in errors[:CAVEATS_MAX] if isinstance(error, Mapping)]
    return {"assessment": "", "next_field": "", "finish": True, "caveats": [text for text in caveats if text]}


def _fields(material: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the fields in the material, beginning with the field that the request is about."""
    fields = [field for field in material.get("fields", ()) if isinstance(field, Mapping) and "path" in field]
    wanted = material.get("field")
    return sorted(fields, key=lambda field: field["path"] != wanted)


_REPLIES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "acquisition_plan": _decision,
    "acquisition_observe": _observation,
    "acquisition_decompose": _decomposition,
    "acquisition_reflect": _review,
}

BYTES_PER_TOKEN = 4
"""The number of bytes that count as one token: a rule of thumb for English text and JSON."""


class QuotingModel:
    """A model that answers the requests of acquisition runs, at once and without cost."""

    name = "quoting:"
    """The name of the model, as given to `--model`."""
    price: Price = FREE

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the reply, or the fault `BAD_REQUEST` for a request of another kind of run."""
        await trio.lowlevel.checkpoint()
        role = str(request.material.get("role", ""))
        if role not in _REPLIES:
            message = f"the model `{self.name}` cannot take the role {role!r}, because it only fills schemas"
            return Fault(kind=FaultKind.BAD_REQUEST, message=message)
        text = orjson.dumps(_REPLIES[role](request.material), option=orjson.OPT_INDENT_2).decode()
        prompt = len(request.system.encode(errors="replace")) + len(request.user.encode(errors="replace"))
        usage = Usage(input_tokens=prompt // BYTES_PER_TOKEN, output_tokens=len(text) // BYTES_PER_TOKEN)
        return Reply(text=text, usage=usage, model=self.name)

    async def aclose(self) -> None:
        """Do nothing, because the model has nothing to close."""


def make(text: str, _: Mapping[str, str]) -> QuotingModel:
    """Return the model for the name `quoting:`. Raises `UsageProblem` if a text follows this prefix."""
    if text:
        raise UsageProblem("`quoting:` must not be followed by a text", place="--model", hint="such as -m quoting:")
    return QuotingModel()
