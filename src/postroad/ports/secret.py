"""Random bits that nobody can guess."""

import os


def secret_bytes(count: int) -> bytes:
    """From the system's own source."""
    return os.urandom(count)
