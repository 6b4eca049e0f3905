"""The policy decides, after a rejection, how far back the search goes. A policy is a table of rules in a YAML file."""
