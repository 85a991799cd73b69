"""Pages of what there is much of."""

from typing import Final

from postroad.model.errors import BadInput

PAGE_MAX: Final = 500


def check_page(limit: int, most: int = PAGE_MAX) -> None:
    """How many may be asked for at once."""
    if not 1 <= limit <= most:
        raise BadInput(f"limit={limit}: give 1 to {most}, and page with `after`")
