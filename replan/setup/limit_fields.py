"""Makes pydantic fields from the table of limits, for request bodies and for the config file."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, Field, JsonValue, WithJsonSchema, create_model

from actors.run.limits import DURATION_PATTERN, LIMITS, LimitSpec, RunLimits, duration_text, seconds_of

M = TypeVar("M", bound=BaseModel)


def with_limits(names: Iterable[str] = tuple(LIMITS), **defaults: Any) -> Callable[[type[M]], type[M]]:
    """Return a decorator that adds one field to a pydantic model for each limit in `names`.

    `defaults` has default values of fields. A field without a default value is optional.
    """

    def extend(model: type[M]) -> type[M]:
        fields: dict[str, Any] = {name: _field(LIMITS[name], defaults.get(name)) for name in names}
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
        )

    return extend


def limits_in(body: BaseModel) -> RunLimits:
    """Return the limits that a request body sets."""
    return cast("RunLimits", {name: value for name, value in body if name in LIMITS})


def _field(spec: LimitSpec, default: Any) -> tuple[Any, Any]:
    if spec.unit == "switch":
        return bool, Field(default=False, description=spec.described)
    value_type = _type_of(spec)
    return value_type if default is not None else value_type | None, Field(default=default, description=spec.described)


def _type_of(spec: LimitSpec) -> Any:
    most: Any = int(spec.most)
    match spec.unit:
        case "count":
            return Annotated[int, Field(ge=1, le=most)]
        case "chance":
            return Annotated[float, Field(ge=0, le=most, allow_inf_nan=False)]
        case "choice":
            return Literal[spec.choices]
        case "settings":
            return dict[str, JsonValue]
        case "dollars":
            return Annotated[float, Field(gt=0, le=most, allow_inf_nan=False)]
        case _:
            return Annotated[float, Field(gt=0, allow_inf_nan=False), duration_up_to(most), duration_schema(most)]


def duration_up_to(most: int) -> BeforeValidator:
    """Return a validator for a length of time, in seconds or as a text such as `15m`, of at most `most` seconds.

    The message of its error contains the maximum and the value as typed, such as `366d`.
    """

    def read(value: object) -> object:
        seconds = seconds_of(value)
        if isinstance(seconds, int | float) and seconds > most:
            raise ValueError(f"should be at most {duration_text(most)}, not {value!r}")
        return seconds

    return BeforeValidator(read)


def duration_schema(most: int) -> WithJsonSchema:
    """Return the JSON schema of a length of time: a number of seconds up to `most`, or a text such as `15m`."""
    number = {"type": "number", "exclusiveMinimum": 0, "maximum": most}
    return WithJsonSchema({"anyOf": [number, {"type": "string", "pattern": f"^{DURATION_PATTERN}$"}]})
