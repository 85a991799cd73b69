"""A count on standard error while many messages are changed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from postroad.cli.printing import err


@contextmanager
def show_progress(word: str) -> Iterator[Callable[[int], None]]:
    """Show a growing count; after Ctrl+C, print how far it was."""
    screen, seen = err(), [0]

    def told(count: int) -> None:
        seen[0] = count
        screen.progress(f"{word} {count:,}")

    try:
        yield told
        screen.progress("")
    except KeyboardInterrupt:
        screen.progress("")
        screen.print(f"stopped: {word} {seen[0]:,}, perhaps a few more; the rest is unchanged")
        raise
