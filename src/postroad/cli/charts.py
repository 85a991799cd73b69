"""Charts in text: sparklines and columns."""

from collections.abc import Callable, Sequence
from typing import Final

BLOCKS: Final = " ▁▂▃▄▅▆▇█"
FULL: Final = len(BLOCKS) - 1


def sparkline(values: Sequence[float]) -> str:
    """One character a value, as high as it is beside the highest."""
    most = max(values, default=0)
    return "".join(_block(value / most if most else 0) for value in values)


def _block(share: float) -> str:
    """What is not zero is seen."""
    return BLOCKS[0] if share <= 0 else BLOCKS[max(1, round(share * FULL))]


def columns(
    values: Sequence[float], height: int, text: Callable[[float], str] | None = None
) -> list[str]:
    """The lines of a chart of columns, with a scale at the left, in the words of `text`."""
    most = max(values, default=0)
    marks = [(text or rate_text)(most * (row + 1) / height) for row in range(height)]
    wide = max(map(len, marks))
    lines = []
    for row in reversed(range(height)):
        cells = [_cell(value / most * height - row if most else 0) for value in values]
        lines.append(f"{marks[row] if most else '':>{wide}} ┤{''.join(cells).rstrip()}")
    return [*lines, f"{'0':>{wide}} ┼{'─' * len(values)}"]


def _cell(share: float) -> str:
    return BLOCKS[FULL] if share >= 1 else _block(share)


def grouped(values: Sequence[float], size: int) -> list[float]:
    """The means of so many values each."""
    parts = [values[start : start + size] for start in range(0, len(values), size)]
    return [sum(part) / len(part) for part in parts]


def rate_text(rate: float) -> str:
    """A rate with as many digits as matter."""
    if rate >= 10 or rate == 0:
        return f"{rate:,.0f}"
    return f"{rate:.1f}" if rate >= 1 else f"{rate:.2g}"


def late_text(late_ms: float | None) -> str:
    """A lateness as people read it."""
    if late_ms is None:
        return "–"
    if late_ms >= 1_000:
        return f"{late_ms / 1000:.1f} s"
    return f"{late_ms:.0f} ms" if late_ms >= 10 or late_ms == 0 else f"{late_ms:.2g} ms"
