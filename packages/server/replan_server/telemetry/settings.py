"""The settings in OpenTelemetry's standard environment variables. Without these variables, nothing is exported. Pure.

The exporters of the SDK read the variables for addresses, headers, certificates and time limits themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass

DELAY_MS = 5000
"""How many milliseconds the exporter waits between two reads of the journal by default. OpenTelemetry recommends this
value."""
DELAY_MS_MIN = 100
"""The shortest pause between two reads of the journal, in milliseconds. If a user sets a shorter pause, this value is
used."""
PROTOCOL = "http/protobuf"
"""The only variant of the OpenTelemetry protocol (OTLP) that the exporter supports."""

_CONTENT = frozenset({"true", "span_only", "span_and_event"})


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """The settings of the export."""

    traces: bool = False
    """Whether spans are exported."""
    metrics: bool = False
    """Whether metrics are exported."""
    content: bool = False
    """Whether spans have prompts, replies, and arguments and outputs of tools."""
    delay_seconds: float = DELAY_MS / 1000
    """How long the exporter waits between two reads of the journal."""
    problems: tuple[str, ...] = ()

    @property
    def wanted(self) -> bool:
        """Whether anything is exported."""
        return self.traces or self.metrics


def telemetry_settings(environment: Mapping[str, str]) -> TelemetrySettings:
    """Return the settings in `environment`, with a line in `problems` for each wrong setting."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return TelemetrySettings()
    problems: list[str] = []
    traces = _is_on(environment, "TRACES", problems)
    metrics = _is_on(environment, "METRICS", problems)
    capture = environment.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").strip().lower()
    delay = _milliseconds(environment, "OTEL_BSP_SCHEDULE_DELAY", problems)
    return TelemetrySettings(traces, metrics, capture in _CONTENT, delay / 1000, tuple(problems))


def _is_on(environment: Mapping[str, str], signal: str, problems: list[str]) -> bool:
    """Return whether `signal`, `TRACES` or `METRICS`, is exported. A variable must name its exporter or an address."""
    variable = f"OTEL_{signal}_EXPORTER"
    chosen = {name.strip().lower() for name in environment.get(variable, "").split(",")} - {""}
    if chosen - {"otlp", "none"}:
        problems.append(f"{variable}: only `otlp` and `none` are supported; nothing is exported")
        return False
    addresses = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    if "none" in chosen or not (chosen or any(environment.get(name) for name in addresses)):
        return False
    protocols = (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    for name in protocols:
        protocol = environment.get(name, "").strip()
        if protocol:
            if protocol == PROTOCOL:
                break
            problems.append(f"{name}: only {PROTOCOL} is supported (port 4318); nothing is exported")
            return False
    return True


def _milliseconds(environment: Mapping[str, str], name: str, problems: list[str]) -> float:
    text = environment.get(name, "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return max(DELAY_MS_MIN, int(text))
    if text:
        problems.append(f"{name}: this is not a number of milliseconds; {DELAY_MS} is used")
    return DELAY_MS
