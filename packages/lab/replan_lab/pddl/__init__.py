"""Reads domains, problems and sequential plans in PDDL, and translates the plans into Replan's form of a plan."""
