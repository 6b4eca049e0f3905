"""The policy decides after a failure how far back the search goes. It is a rule table, stored as data."""
