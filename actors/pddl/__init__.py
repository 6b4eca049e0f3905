"""Planning domains, problems and sequential plans in PDDL, and the plans of this product that they stand for."""
