"""Handlers: functions that do the work of a run's requests, such as a model call, a judgement or a wait."""
