"""The SQLite journal: its schema, statements, and the thread that writes."""
