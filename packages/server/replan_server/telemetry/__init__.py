"""Traces and metrics for OpenTelemetry, made from the journal: spans, their exporter, and what is counted."""
