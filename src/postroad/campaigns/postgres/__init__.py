"""Campaigns in PostgreSQL: the SQL, one query a file, and the verbs over it."""
