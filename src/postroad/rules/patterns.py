"""Patterns that are searched in what servers say, by RE2: in linear time, whatever they are."""

from typing import Final, Protocol

from postroad.model.answer_rules import PATTERN_MAX
from postroad.model.errors import BadInput
from postroad.model.extras import Needing
from postroad.model.texts import checked

MEMORY_MAX: Final = 1 << 20
"""What a compiled pattern may use; `a{1000}` takes 80 KiB."""


class Pattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> object:
        """Return a match, or None."""


def compiled(pattern: str) -> Pattern:
    """Compile a pattern; BadInput says what is wrong with it, MissingExtra what is not
    installed."""
    _ = checked("text", pattern, PATTERN_MAX)  # raises
    with Needing("a rule with a text pattern"):
        import re2
    options = re2.Options()
    options.max_mem, options.never_capture = MEMORY_MAX, True
    options.case_sensitive = options.log_errors = False
    try:
        found: Pattern = re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0]
        said = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise BadInput(f"text {pattern[:100]!r} is no pattern (RE2): {said}") from None
    return found
