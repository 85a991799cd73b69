"""`postroad`: the program."""

import sys


def main() -> None:
    """The program. Loading it takes a moment, in which Ctrl+C must end it as quietly as later."""
    try:
        from postroad.cli.printing import crash
        from postroad.cli.root import app

        sys.excepthook = crash
        app()
    except KeyboardInterrupt:
        sys.exit(130)
