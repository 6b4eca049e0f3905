"""Guards: functions that judge an artifact in its context and return a verdict.

A guard never raises, whatever the input.
"""
