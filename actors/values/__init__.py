"""Values that all parts of an agent share: artifacts, findings, answers."""
