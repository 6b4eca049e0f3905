"""The journal in Postgres: one database, several machines."""
