"""Blame: which step of a failed trace of agents most likely made the mistake, from traces that other programs wrote."""
