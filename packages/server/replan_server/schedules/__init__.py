"""Schedules: a host starts orders of the config file at their times."""
