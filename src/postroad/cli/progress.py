"""A count on standard error while many messages are changed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from postroad.cli.printing import err


@contextmanager
def show_progress(word: str) -> Iterator[Callable[[int], None]]:
    """Show a growing count; after Ctrl+C, print how far it was."""
    columns = (SpinnerColumn(), TextColumn(word + " {task.completed:,}"), TimeElapsedColumn())
    screen = err()
    bar = Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
    task, seen = bar.add_task(word, total=None), [0]

    def told(count: int) -> None:
        seen[0] = count
        bar.update(task, completed=count)

    try:
        with bar:
            yield told
    except KeyboardInterrupt:
        screen.print(f"stopped: {word} {seen[0]:,}, perhaps a few more; the rest is unchanged")
        raise
