"""Pure values and contracts of the runtime: the machine, events, the ledger, errors, the clock."""
