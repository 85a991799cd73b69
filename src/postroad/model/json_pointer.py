"""JSON pointers (RFC 6901)."""

import re
from typing import Final

BAD_TILDE: Final = re.compile("~(?![01])")


def pointer_parts(text: str) -> list[str] | None:
    """The names that a pointer leads through; None if it is none."""
    if not text.startswith("/") or BAD_TILDE.search(text):
        return None
    return [part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")]
