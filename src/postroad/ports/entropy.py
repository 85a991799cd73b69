"""Random bytes for secrets. Tests may put their own in its place."""

import os


def secret_bytes(count: int) -> bytes:
    """Return so many bytes that nobody can guess, from the system's own source."""
    return os.urandom(count)
