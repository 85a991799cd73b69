"""Pacing: a process reserves rate slots and spends each at its time."""
