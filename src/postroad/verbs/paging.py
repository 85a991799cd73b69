"""Limits of pages."""

from typing import Final

from postroad.model.errors import BadInput

PAGE_MAX: Final = 500


def check_page(limit: int, most: int = PAGE_MAX) -> None:
    """Raise BadInput if a page may not have this many rows."""
    if not 1 <= limit <= most:
        raise BadInput(f"limit={limit}: give 1 to {most}, and page with `after`")
