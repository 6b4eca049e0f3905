"""The table of the limits and of the settings of calls that a person may set for a run of any kind. Pure.

The table has the name, unit, bounds and help of each limit. All interfaces are generated from this table: the command
line, Python, HTTP, MCP and the page. The ceilings in the config file and rows of the documentation are generated from
it too. A limit has the same name in all interfaces. The amounts that a run may use are in `runtime.core.ledger.Limits`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, cast

from runtime.core.errors import UsageProblem

if TYPE_CHECKING:  # The help of the command line loads no pydantic.
    from runtime.core.ledger import Limit, Limits

Unit = Literal["count", "dollars", "time", "chance", "switch", "settings", "choice"]
"""The kind of value that a limit has. `count`: a whole number. `dollars`: an amount of money. `time`: a length of time.
`chance`: a number from 0 to 1. `switch`: true or false. `settings`: names with values. `choice`: one of several words.
"""
Duration = float | str
"""A length of time: a number of seconds, or a text such as `90s`, `15m`, `2h` or `1d`."""

DURATION_PATTERN = "([0-9]{1,6}(?:[.][0-9]{1,3})?)([smhd])"
"""The regular expression for a length of time as a number and a unit, such as `15m`."""
_DURATION = re.compile(DURATION_PATTERN)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class LimitSpec:
    """The facts about one limit, for all interfaces."""

    help: str
    """The meaning of the limit, in one sentence."""
    label: str
    """The label of the limit in forms, in a few words."""
    unit: Unit
    """The unit of the limit's values."""
    most: float
    """The largest value. A larger value is taken for a typing error. Up to this value, sums are exact and years have
    four digits.
    """
    key: str
    """The key of the limit in a message that changes a run (`actors.run.settings`)."""
    ceiling: bool = False
    """Whether the config file may set a maximum for the limits that clients of a server set."""

    choices: tuple[str, ...] = ()
    """The allowed words, if the unit is `choice`."""
    noun: str = ""
    """The word for one unit, such as `call`; empty for a limit that a run cannot use up."""
    end: str = ""
    """The reason for the end of a run at this limit; empty for a limit that a run cannot reach."""
    near: str = ""
    """The warning about a limit of time, in which `{}` stands for the time."""
    used: str = ""
    """The beginning of the question at a limit of time, in which `{}` stands for the time."""
    suffix: str = ""
    """The words after an amount of active time; empty for time by the clock."""
    workflow: str = ""
    """The workflow key that sets the default; empty if workflows cannot set the limit."""
    plain: bool = False
    """Whether the command line also accepts a number without a unit, which means seconds."""

    @property
    def of_run(self) -> bool:
        """Whether the limit is for the whole run, and not for single calls.

        A run that has ended at the limit can go on with a higher limit.
        """
        return self.key not in ("timeout_seconds", "output_tokens_max", "model_settings")

    @property
    def described(self) -> str:
        """The help text, for interfaces that also accept a number of seconds."""
        return f"{self.help} A number of seconds, or a text such as 15m." if self.unit == "time" else self.help

    def fits(self, value: object) -> bool:
        """Return whether a value has the limit's type and lies within the limit's bounds."""
        if self.unit == "switch":
            return value is True
        if self.unit == "choice":
            return value in self.choices
        if isinstance(value, bool) or not isinstance(value, int if self.unit == "count" else int | float):
            return False  # Python treats True as the number 1.
        return (value >= 0 if self.unit == "chance" else value > 0) and value <= self.most  # False for NaN.

    def expected(self, value: object) -> str:
        """Return in words why a value does not fit."""
        most, given = f"{self.most:,}", f"not {value!r}"[:60]
        match self.unit:
            case "switch":
                return f"the value must be True or False, {given}"
            case "choice":
                return f"the value must be {' or '.join(self.choices)}, {given}"
            case "chance":
                return f"the limit must be a number from 0 to 1, {given}"
            case "count":
                return f"the limit must be a whole number above 0, at most {most}, {given}"
            case _:
                return f"the limit must be a number above 0, at most {most}, {given}"

    def value(self, amount: float) -> float:
        """Return an amount of a ledger in the unit that people use, such as dollars for micro-dollars."""
        from runtime.core.ledger import MICRO  # noqa: PLC0415 -- the help of the command line loads no pydantic

        return amount / MICRO if self.unit == "dollars" else amount

    def typed(self, value: Any) -> str:
        """Return a value of a ledger as people type it, such as `1200`, `0.5`, `15m` or `ask`."""
        if self.unit == "choice":
            return str(value)
        return duration_text(value) if self.unit == "time" else f"{self.value(value):.15g}"

    def number(self, amount: float) -> str:
        """Return an amount of a ledger in figures: `2,400`, `$1.20`, or `15m`."""
        from actors.values.format import money  # noqa: PLC0415 -- as above

        if self.unit == "time":
            return duration_text(amount)
        return money(self.value(amount)) if self.unit == "dollars" else f"{amount:,}"

    def text(self, amount: float) -> str:
        """Return an amount of a ledger with its unit: `2,400 tokens`, `$1.20`, or `15m of work`."""
        noun = f" {self.noun}{'' if amount == 1 else 's'}" if self.unit == "count" else self.suffix
        return f"{self.number(amount)}{noun}"


class RunLimits(TypedDict, total=False):
    """The limits that are set for a run. A limit that is missing or None has its default."""

    max_calls: Annotated[
        int | None,
        LimitSpec(
            "The most model calls to make.",
            "Model calls",
            "count",
            10**6,
            "calls",
            ceiling=True,
            noun="call",
            end="no calls left",
            workflow="max_total_calls",
        ),
    ]
    max_tokens: Annotated[
        int | None,
        LimitSpec(
            "The most tokens to use, input plus output.",
            "Tokens",
            "count",
            10**12,
            "tokens",
            ceiling=True,
            noun="token",
            end="no tokens left",
        ),
    ]
    max_cost: Annotated[
        float | None,
        LimitSpec(
            "The most dollars to spend; the model's price must be known.",
            "Dollars",
            "dollars",
            10**9,
            "micro_usd",
            ceiling=True,
            noun="micro-dollar",
            end="no money left",
        ),
    ]
    deadline: Annotated[
        Duration | None,
        LimitSpec(
            "End the run after this time, such as 2h.",
            "Time until the end, such as 2h",
            "time",
            10**10,
            "deadline",
            end="the deadline has passed",
            near="the {} until the deadline have passed",
            used="The deadline of the run has passed",
        ),
    ]
    active_time: Annotated[
        Duration | None,
        LimitSpec(
            "Limit how long models, tools and guards work; waiting does not count.",
            "Active time, such as 30m",
            "time",
            10**10,
            "active_seconds",
            ceiling=True,
            noun="active second",
            end="no active time left",
            near="{} of active time are used",
            used="The run has used its {} of active time",
            suffix=" of work",
        ),
    ]
    patience: Annotated[
        Duration | None,
        LimitSpec(
            "Wait at most this long for a provider that is down; default 10m.",
            "Longest wait for a provider, such as 10m",
            "time",
            10**10,
            "patience_seconds",
        ),
    ]
    stop_below: Annotated[
        float | None,
        LimitSpec(
            "With a belief policy: the least chance of success per call of a move.",
            "Stop below this chance per call",
            "chance",
            1,
            "stop_below",
            workflow="stop_below",
        ),
    ]
    keep_trying: Annotated[
        bool,
        LimitSpec(
            "Go on although no move is worth its calls or the model repeats itself.",
            "Go on although no move is worth its calls",
            "switch",
            1,
            "stop_below",
        ),
    ]
    at_limit: Annotated[
        Literal["ask", "stop"] | None,
        LimitSpec(
            "At a limit: ask a person how to go on, or stop; default: ask, if somebody can answer.",
            "At a limit",
            "choice",
            0,
            "at_limit",
            choices=("ask", "stop"),
            workflow="at_limit",
        ),
    ]
    output_tokens_max: Annotated[
        int | None,
        LimitSpec(
            "The most tokens in one reply, for every step.", "Tokens of one reply", "count", 10**6, "output_tokens_max"
        ),
    ]
    timeout: Annotated[
        Duration | None,
        LimitSpec(
            "The time limit of one model call, for every step.",
            "Time of one model call, such as 90s",
            "time",
            86_400,
            "timeout_seconds",
            plain=True,
        ),
    ]
    model_settings: Annotated[
        Mapping[str, Any] | None,
        LimitSpec(
            "Settings of the model's calls, for every step, such as temperature=0.2; null removes a setting.",
            "Settings of calls, such as temperature=0.2",
            "settings",
            0,
            "model_settings",
        ),
    ]
    compact: Annotated[
        bool,
        LimitSpec(
            "Use shorter prompts, for a model with a small context window.",
            "Use shorter prompts",
            "switch",
            1,
            "model_settings",
        ),
    ]


LIMITS: Mapping[str, LimitSpec] = MappingProxyType(
    {name: kind.__metadata__[0] for name, kind in RunLimits.__annotations__.items()}
)
"""The specifications of all limits, by the name of the limit."""


def name_of(key: str) -> str:
    """Return the name of the limit with a key; the key itself if no limit has this key."""
    return next((name for name, spec in LIMITS.items() if spec.key == key), key)


def spec_of(limit: "Limit") -> LimitSpec:
    """Return the facts about a limit that a run can reach."""
    return LIMITS[name_of(limit.key)]


def flag(name: str) -> str:
    """Return the option of the command line for a limit or another keyword."""
    return f"--{name.replace('_', '-')}"


def seconds_of(value: object) -> object:
    """Return a length of time such as `15m` in seconds. A value that is not a text is returned unchanged.

    Raises `ValueError` for any other text, and for True and False, which Python treats as numbers.
    """
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is not a length of time such as 30s, 15m, 2h or 1d")  # noqa: TRY004 -- as documented
    if not isinstance(value, str):
        return value
    matched = _DURATION.fullmatch(value.strip())
    if matched is None or float(matched[1]) == 0:
        raise ValueError(f"{value[:40]!r} is not a length of time such as 30s, 15m, 2h or 1d")
    return float(matched[1]) * _SECONDS[matched[2]]


def duration_text(seconds: float) -> str:
    """Return a length of time as users type it, in the largest unit that gives a whole number."""
    unit = next((unit for unit, second in reversed(_SECONDS.items()) if seconds % second == 0), "s")
    return f"{seconds / _SECONDS[unit]:.15g}{unit}"


def split_limits(values: dict[str, Any]) -> RunLimits:
    """Remove the limits from the parameters of a function or a form, and return the removed limits."""
    return cast("RunLimits", {name: values.pop(name) for name in LIMITS if name in values})


def check_limits(limits: RunLimits) -> RunLimits:
    """Check the limits, and return those that are set.

    Times are in seconds, and `compact` is moved into `model_settings`. Raises `UsageProblem` with the limit as its
    place.
    """
    values: dict[str, Any] = {}
    for name, value in limits.items():
        if value is None or value is False:
            continue
        spec = LIMITS[name]
        if spec.unit == "settings":
            from actors.values.model_settings import check_settings  # noqa: PLC0415 -- as below

            if settings := check_settings(value, place=name):
                values[name] = settings
            continue
        try:
            read = seconds_of(value) if spec.unit == "time" else value
        except ValueError as wrong:
            raise UsageProblem(str(wrong), place=name) from None
        if not spec.fits(read):
            raise UsageProblem(spec.expected(value), place=name, hint="leave it out to use the default")
        values[name] = read
    if values.keys() >= {"keep_trying", "stop_below"}:
        raise UsageProblem(
            "keep_trying means the same as stop_below 0", place="keep_trying", hint="give only one of the two"
        )
    if values.pop("compact", False):  # This setting of calls also has its own switch.
        values["model_settings"] = {"compact": True} | values.get("model_settings", {})
    return cast("RunLimits", values)


def stored_limits(limits: RunLimits, now: float) -> dict[str, Any]:
    """Return a mapping from the keys of the set limits to their values, in the form that a run stores.

    The deadline is `now` (UTC seconds) plus the given time. Raises `UsageProblem` with the limit as its place.
    """
    from runtime.core.ledger import micro_limit  # noqa: PLC0415 -- as above

    stored: dict[str, Any] = {LIMITS[name].key: value for name, value in check_limits(limits).items()}
    if "micro_usd" in stored:
        stored["micro_usd"] = micro_limit(stored["micro_usd"])
    if "deadline" in stored:
        stored["deadline"] += now
    if (least := least_value(limits)) is not None:
        stored["stop_below"] = least
    return stored


def ledger_limits(limits: RunLimits, usual: Mapping[str, Any], now: float) -> "Limits":
    """Return the limits of a run's ledger.

    `usual` has the default for the key of each limit, and `now` is the start of the run. `stop_below` always has its
    default here, because options set it in the run's configuration.
    """
    from runtime.core.ledger import Limits  # noqa: PLC0415 -- as above

    stored = stored_limits(limits, now)
    own = {key: value for key, value in stored.items() if key in Limits.model_fields and key != "stop_below"}
    return Limits(**{**usual, **own})


def least_value(limits: RunLimits) -> float | None:
    """Return the least chance of success per call of a move; None if the limits do not set it."""
    return 0.0 if limits.get("keep_trying") else limits.get("stop_below")
