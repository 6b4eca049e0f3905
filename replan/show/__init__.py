"""How results, plans, searches and records look to people. Everything that models and users wrote is sanitised here."""
