"""The kind `execution`: runs a proved plan with the user's tools, and replans if the plan fails."""
