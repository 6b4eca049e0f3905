"""The policy: from a failure to how far back the search goes, by a table of rules that is data."""
