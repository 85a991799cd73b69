"""Transports: one kind of recipient each."""
