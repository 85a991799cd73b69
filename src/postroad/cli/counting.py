"""How far a change of many messages is, on standard error where a person looks at it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from postroad.cli.printing import err


@contextmanager
def counting(word: str) -> Iterator[Callable[[int], None]]:
    """Shows a count while it grows, and how far it was when Ctrl+C ends it."""
    screen, seen = err(), [0]

    def told(count: int) -> None:
        seen[0] = count
        screen.progress(f"{word} {count:,}")

    try:
        yield told
        screen.progress("")
    except KeyboardInterrupt:
        screen.progress("")
        screen.print(f"stopped: {word} {seen[0]:,}, perhaps some more; the rest is as it was")
        raise
