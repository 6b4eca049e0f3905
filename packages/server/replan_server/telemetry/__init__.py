"""Traces and metrics for OpenTelemetry, made from the journal: spans, measurements, and the exporter."""
