"""Campaigns in a SQLite file: the SQL, one query a file, and the verbs over it."""
