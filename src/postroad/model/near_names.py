"""Names that somebody may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `: did you mean x?` for the known name that is nearest, or nothing."""
    near = get_close_matches(name[:200], known, 1)
    return f": did you mean {near[0]!r}?" if near else ""
