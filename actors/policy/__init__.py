"""The policy: decides after a failure how far back the search goes, by a rule table that is data."""
