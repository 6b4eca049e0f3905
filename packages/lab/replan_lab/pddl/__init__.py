"""Planning domains, problems and sequential plans in PDDL, and their translation into plans of this product."""
