"""How much of the machine other programs use: what all processors did, without this process and its
children. What ours costs is never excused by it; a part of a measure in which others worked is."""

import os
from pathlib import Path

PROC = Path("/proc")
IDLE = slice(3, 5)
"""Of the processors' line: idle, and waiting for the disk."""
ALL = slice(0, 8)
"""User to steal: what a host gave to its other guests is others' too. Guests are in user already."""


class Others:
    """Their share, between one look and the next."""

    def __init__(self) -> None:
        self._before = _look()

    def share(self) -> float:
        """Of all processors, since the last time it was asked; 0 where there is no /proc."""
        before, self._before = self._before, _look()
        every, idle, ours = (now - then for now, then in zip(self._before, before, strict=True))
        return max(0.0, (every - idle - ours) / every) if every else 0.0


def _look() -> tuple[int, int, int]:
    """Ticks of all processors, those without work, and ours."""
    ticks = [int(word) for word in _text("stat").partition("\n")[0].split()[1:]]
    return sum(ticks[ALL]), sum(ticks[IDLE]), _ticks_of(os.getpid())


def _ticks_of(process: int) -> int:
    """User and system time of a process and of its children that run."""
    words = _text(f"{process}/stat").rpartition(") ")[2].split()
    tasks = (PROC / str(process) / "task").glob("*")
    children = " ".join(_text(f"{process}/task/{task.name}/children") for task in tasks)
    own = int(words[11]) + int(words[12]) if words else 0
    return own + sum(_ticks_of(int(child)) for child in children.split())


def _text(path: str) -> str:
    """Nothing of a process or thread that has just ended."""
    try:
        return (PROC / path).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
