"""The journal: an append-only, hash-chained log per run, with leases, status rows and an inbox for people."""
