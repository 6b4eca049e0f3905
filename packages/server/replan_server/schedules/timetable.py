"""The schedules of the config file, their times, and what a schedule does at a time. Pure.

Times are whole seconds since 1970, UTC. A time that daylight saving skips moves to the next existing time. A time that
it repeats comes once. A schedule for each hour or for some minutes of each hour follows the real hours.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import Field, JsonValue, model_validator

from actors.files.suggestions import near
from actors.files.validation_errors import Config, config_error
from replan.setup.limit_fields import with_limits

ScheduleName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Name = Annotated[str, Field(min_length=1, max_length=100)]

_CRON_FIELDS = 5
_SHIFT = timedelta(hours=3)
"""More time than the clocks of any zone are set back in one night."""
_STAMP = "%Y%m%dt%H%Mz"


@with_limits()
class ScheduleEntry(Config):
    """An order that hosts start at certain times. Its names and limits are the same as in a client's order.

    It has `problem` for a planning run, `plan` and `tools` for an execution, or `kind` and `order` for another kind.
    """

    cron: Annotated[str, Field(max_length=100)]
    """The times: minute, hour, day of the month, month and day of the week, as in a crontab."""
    zone: Annotated[str, Field(max_length=64)] = "UTC"
    """The time zone, such as Europe/Berlin."""
    problem: str | None = None
    """The path of the file with the problem; it begins at the config's folder."""
    workflow: Name = "search"
    """The name of a workflow, shipped or of `clients.workflows`."""
    strict: bool = False
    """Whether a plan is rejected that leaves a demand of the problem in no step."""
    plan: str | None = None
    """The path of the file with the plan to execute; it begins at the config's folder."""
    tools: Name | None = None
    """The name of a tool set of `clients.tools`."""
    kind: Name | None = None
    """The name of an installed kind."""
    order: Mapping[str, JsonValue] = Field(default_factory=dict)
    """The fields of an order of that kind, as in the HTTP API."""
    model: Name = "default"
    """The name of a model: of `clients.models`, a template, or `default`."""
    overlap: Literal["skip", "queue"] = "skip"
    """What happens at a time if an earlier run of the schedule has not finished: nothing, or a start after it has
    finished.
    """

    @model_validator(mode="after")
    def _has_times(self) -> Self:
        try:
            zone_of(self.zone)
        except ValueError:
            hint = near(self.zone, available_timezones()) or "such as UTC or Europe/Berlin"
            raise config_error(f"there is no time zone {self.zone!r}", ("zone",), hint) from None
        try:
            times = Timetable(self.cron, self.zone)
            times.next(0)
        except ValueError as error:
            raise config_error(f"{self.cron!r}: {error}", ("cron",), "such as `30 2 * * 1-5`") from None
        return self

    @model_validator(mode="after")
    def _has_one_order(self) -> Self:
        named = [name for name in ("problem", "plan", "kind") if getattr(self, name) is not None]
        if len(named) != 1:
            cause = f"{' and '.join(named)} are given" if named else "it starts nothing"
            raise config_error(cause, (named[1],) if named else (), "give one of problem, plan and kind")
        if (self.plan is None) != (self.tools is None):
            raise config_error("plan and tools belong together", (), "give both, or none")
        if self.order and self.kind is None:
            raise config_error("an order without its kind", ("order",), "give its kind, such as acquisition")
        return self


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its name. Raises `ValueError` for an unknown zone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError) as error:  # Some folders of zones have the form of a name.
        raise ValueError(name) from error


@dataclass(frozen=True, slots=True)
class Timetable:
    """The times of a schedule. Its methods raise `ValueError` for an invalid cron expression."""

    cron: str
    zone: str

    def next(self, after: float) -> int | None:
        """Return the first time after another time; None if there is none in the next 50 years."""
        start = self._local(after) - _SHIFT
        return next((time for time in self._times(start, reverse=False) if time > after), None)

    def latest(self, after: float, until: float) -> int | None:
        """Return the last time that is later than `after` and not later than `until`; None if there is no such time."""
        start = self._local(until) + _SHIFT
        time = next((time for time in self._times(start, reverse=True) if time <= until), None)
        return None if time is None or time <= after else time

    def _local(self, time: float) -> datetime:
        return datetime.fromtimestamp(int(time), UTC).astimezone(UTC if self.zone == "UTC" else zone_of(self.zone))

    def _times(self, start: datetime, *, reverse: bool) -> Iterator[int]:
        from cronsim import CronSim, CronSimError  # noqa: PLC0415 -- for homes with a schedule

        if len(self.cron.split()) != _CRON_FIELDS:
            raise ValueError("it should have five fields: minute, hour, day of the month, month, day of the week")
        try:
            found = CronSim(self.cron, start, reverse=reverse)
        except CronSimError as error:
            raise ValueError(str(error).lower()) from None
        return (int(time.timestamp()) for time in found)


@dataclass(frozen=True, slots=True)
class StartDue:
    """The order of a time is to be started now."""

    due: int


@dataclass(frozen=True, slots=True)
class SkipDue:
    """A time is skipped, because an earlier run has not finished."""

    due: int
    busy: str


def decide(table: Timetable, overlap: str, *, handled: float, now: float, busy: str) -> StartDue | SkipDue | None:
    """Return the current action of a schedule; None if there is nothing to do.

    If several times have passed since the last one, only the latest counts. `handled` is the last time that was started
    or skipped, or when the schedule began. `busy` is the unfinished run of the schedule; empty if there is none.
    """
    due = table.latest(handled, now)
    if due is None:
        return None
    if not busy:
        return StartDue(due)
    return SkipDue(due, busy) if overlap == "skip" else None


def run_of(name: str, due: int) -> str:
    """Return the id of the run that a schedule starts at a time. The id is unique for the schedule and the time."""
    return f"{name}-{datetime.fromtimestamp(due, UTC).strftime(_STAMP)}"


def due_of(name: str, run: str) -> int | None:
    """Return the time in the id of a schedule's run; None for any other id."""
    stamp = run.removeprefix(f"{name}-")
    if stamp == run or not re.fullmatch(r"[0-9]{8}t[0-9]{4}z", stamp):
        return None
    try:
        return int(datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None
