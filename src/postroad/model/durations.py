"""Durations as callers give them: seconds, or a timedelta."""

from datetime import timedelta
from math import nan
from typing import Final

Duration = float | timedelta

CENTURY_S: Final = 100 * 366 * 86_400


def seconds_of(span: object) -> float:
    """Convert to seconds. What is not a duration becomes NaN, which lies in no range that is
    checked."""
    if isinstance(span, timedelta):
        return span.total_seconds()
    if isinstance(span, (int, float)) and not isinstance(span, bool):
        return span
    return nan
