"""Planning domains, problems and sequential plans in PDDL, and their translation into Replan's plans."""
