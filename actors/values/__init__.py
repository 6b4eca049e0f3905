"""Data types that all packages of the agents share: artifacts, findings, answers, lines of text."""
