"""How far a change of many messages is, on standard error where a person looks at it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from postroad.cli.printing import err


@contextmanager
def counting(word: str) -> Iterator[Callable[[int], None]]:
    """Shows a count while it grows."""
    columns = (SpinnerColumn(), TextColumn(word + " {task.completed:,}"), TimeElapsedColumn())
    screen = err()
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(word, total=None)
        yield lambda count: bar.update(task, completed=count)
