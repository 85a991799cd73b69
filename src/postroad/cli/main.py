"""`postroad`: the program."""

import sys


def main() -> None:
    """Run the program. Ctrl+C ends it quietly, also while it is still loading."""
    try:
        from postroad.cli.loading import loading

        with loading():
            from postroad.cli.printing import crash
            from postroad.cli.root import app

        sys.excepthook = crash
        _ = app()  # it ends the process itself
    except KeyboardInterrupt:
        sys.exit(130)
