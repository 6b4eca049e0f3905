"""Experiments with ways to plan, races, model profiles, replays under other rules, and PDDL."""
