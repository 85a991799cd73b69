"""Waiting: which delay queues a message passes, what blocks it, and how blocked messages are
parked in the broker."""
