"""What the standard variables ask for."""

import pytest

from replan_server.telemetry.settings import telemetry_settings

HERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}


@pytest.mark.parametrize(
    ("environment", "traces", "metrics"),
    [
        ({}, False, False),
        (HERE, True, True),
        (HERE | {"OTEL_SDK_DISABLED": "TRUE"}, False, False),
        (HERE | {"OTEL_TRACES_EXPORTER": "none"}, False, True),
        (HERE | {"OTEL_METRICS_EXPORTER": " None "}, True, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True, False),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://localhost:4318/v1/metrics"}, False, True),
        (HERE | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, True, True),
        (HERE | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, False, False),
        (
            HERE | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
            True,
            False,
        ),
        (HERE | {"OTEL_TRACES_EXPORTER": "zipkin"}, False, True),
    ],
)
def test_signals_are_exported_where_the_variables_ask_for_them(environment, traces, metrics):
    settings = telemetry_settings(environment)
    assert (settings.traces, settings.metrics) == (traces, metrics)
    assert settings.wanted == (traces or metrics)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        *[(value, False) for value in ("", "false", "NO_CONTENT", "event_only", "yes")],
        *[(value, True) for value in ("true", "SPAN_ONLY", "span_and_event")],
    ],
)
def test_content_is_exported_only_by_the_standard_opt_in(value, content):
    settings = telemetry_settings(HERE | {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": value})
    assert settings.content is content


def test_the_delay_is_the_standard_one_or_the_default():
    assert telemetry_settings(HERE).delay_seconds == 5.0
    assert telemetry_settings(HERE | {"OTEL_BSP_SCHEDULE_DELAY": "250"}).delay_seconds == 0.25
    assert telemetry_settings(HERE | {"OTEL_BSP_SCHEDULE_DELAY": "0"}).delay_seconds == 0.1
    wrong = telemetry_settings(HERE | {"OTEL_BSP_SCHEDULE_DELAY": "soon"})
    assert wrong.delay_seconds == 5.0
    assert len(wrong.problems) == 1
