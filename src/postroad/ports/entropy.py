"""Randomness for secrets; tests may put their own in its place."""

import os


def secret_bytes(count: int) -> bytes:
    """So many bytes that nobody can guess."""
    return os.urandom(count)
