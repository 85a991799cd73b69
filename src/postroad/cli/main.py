"""`postroad`: the program."""

import sys


def main() -> None:
    """The program. Loading it takes a moment, in which Ctrl+C must end it as quietly as later."""
    try:
        from postroad.cli.groups import app
        from postroad.cli.printing import crash

        sys.excepthook = crash
        _ = app()  # it ends the process itself
    except KeyboardInterrupt:
        sys.exit(130)
