"""The contents of a journal: events (facts), their codec, and records (events with a position in a run).

An event is a frozen pydantic value with a literal `kind`. The class variable `texts` lists the fields that may contain
large texts. The journal stores each text once, by its content hash, and stores only the hash in the event. The codec is
closed: it makes only events of the classes that it was given, and refuses unknown keys.

**A field that equals its default is not written.** So the default of a stored field is part of the format and must
never change. A test contains the list of all defaults that are not empty. If a later release may need another default,
the field has no default, or has its own serializer that always writes it. A value that can be computed from other
fields of the event is a property, never a field.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import orjson
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

E = TypeVar("E")

Seconds = Annotated[float, AfterValidator(partial(round, ndigits=6))]
"""A time or a duration in seconds. It is rounded to the microsecond, because finer digits are noise."""
ROUNDING = 1e-6
"""The largest rounding error of an event's time, in seconds. The stored time can be later than the real time by this
much."""


def make_storable(text: str) -> str:
    """Return the text with lone surrogates replaced.

    A text with lone surrogates cannot be encoded in UTF-8, and so cannot be stored.
    """
    return text.encode("utf-8", "replace").decode()


StorableText = Annotated[str, BeforeValidator(lambda text: make_storable(text) if isinstance(text, str) else text)]
"""The type of a field for text from outside the program. When an event with this field is created, `make_storable`
changes the text so that it can be stored."""


class Value(BaseModel):
    """A frozen value that refuses unknown keys, and numbers that JSON cannot represent.

    The schema of a class is built at its first use, because a process uses few of the classes. So a wrong annotation of
    a field raises its error only at the first use.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class Event(Value):
    """A fact. Each subclass has a literal `kind`."""

    texts: ClassVar[tuple[str, ...]] = ()
    """The string fields that are stored by content hash."""
    added_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that were added after the first release. If such a field has its default value, people do not see it.
    """
    kind: str = ""
    """The name under which the event is stored."""

    @property
    def precedes_takeover(self) -> bool:
        """Whether a new driver must record this event before it resumes the run, because decisions depend on it."""
        return False


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def _to_base64(digest: str) -> str:
    return base64.urlsafe_b64encode(bytes.fromhex(digest)).decode().rstrip("=")


def _to_hex(digest: str) -> str:
    return base64.b64decode(f"{digest}=", altchars=b"-_", validate=True).hex()


class Encoded(NamedTuple):
    """An event in its stored form: its JSON, with hashes (in hex) in place of texts, and the text for each hash."""

    body: bytes
    texts: Mapping[str, str]


class Codec(Generic[E]):
    """Encodes and decodes the events of the given classes, and of no other class.

    `format` is the highest format version that it reads.

    Decoding raises `pydantic.ValidationError`, `orjson.JSONDecodeError` or `KeyError` (an unknown kind, a missing text)
    for anything that `encode` did not return. The journal turns these errors into `JournalDamaged`.
    """

    def __init__(self, members: Sequence[type[Event]], *, format: int = 1) -> None:
        self.format = format
        self._members = {str(member.model_fields["kind"].default): member for member in members}
        self._types = frozenset(members)

    def encode(self, event: E) -> Encoded:
        """Return the stored form of an event. Raises `TypeError` if the event is not in the union."""
        assert isinstance(event, Event)
        if type(event) not in self._types:
            raise TypeError(f"{type(event).__name__} is not an event of this union")
        plain = {"kind": event.kind, **event.model_dump(mode="json", exclude_defaults=True)}
        texts: dict[str, str] = {}
        for name in event.texts:
            if plain.get(name) is not None:
                digest = text_hash(plain[name])
                texts[digest] = plain[name]
                plain[name] = _to_base64(digest)
        return Encoded(orjson.dumps(plain), texts)

    def text_hashes(self, body: bytes) -> list[str]:
        """Return the hashes of texts in a stored event, in hex."""
        plain = orjson.loads(body)
        return [_to_hex(plain[name]) for name in self._members[plain["kind"]].texts if plain.get(name) is not None]

    def decode(self, body: bytes, texts: Mapping[str, str]) -> E:
        """Return the event. `texts` must contain the text for every hash in the body."""
        plain: dict[str, Any] = orjson.loads(body)
        member = self._members[plain["kind"]]
        for name in member.texts:
            if plain.get(name) is not None:
                plain[name] = texts[_to_hex(plain[name])]
        return cast("E", member.model_validate(plain))


class Record(NamedTuple, Generic[E]):
    """An event with its position in a run."""

    run: str
    seq: int
    """The number of the record in its run, counted from 1 without gaps."""
    at: float
    """The time of the append by the journal's clock (UTC seconds since 1970)."""
    epoch: int
    event: E
    hash: str
    """The hash in hex. It covers the previous record's hash, run, seq, at, epoch, inbox and the event's stored body."""
    inbox: int | None = None
    """The id of the posted message that the record consumed, if any."""
