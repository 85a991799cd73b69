"""A module that only the program of the tests can import, not its child processes."""

import sys

from postroad import Message

if "pytest" not in sys.modules:
    raise ImportError("\udcff")


def work(_message: Message) -> None:
    """Never called."""
