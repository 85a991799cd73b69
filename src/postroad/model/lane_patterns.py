"""Patterns of lanes: `smtp:*.google.com` means every lane whose transport and server look so."""

from typing import Final

from postroad.model.errors import BadInput
from postroad.model.texts import checked

STARS_MAX: Final = 8


def check_pattern(pattern: str) -> str:
    """Return the pattern; BadInput when it cannot be one. `*` is any text, `?` one character, and
    `*.google.com` means google.com as well."""
    if not checked("lanes", pattern) or not pattern.isprintable():
        raise BadInput(f"lanes {pattern!r}: write TRANSPORT:SERVER, as 'smtp:*.google.com'")
    if pattern.count("*") > STARS_MAX:
        raise BadInput(f"lanes {pattern!r}: at most {STARS_MAX} stars")
    if ":" not in pattern and pattern[0] not in "*?":
        raise BadInput(f"lanes {pattern!r}: name the transport first, as '{pattern}:*'")
    return pattern


def lane_name(transport: str, server: str) -> str:
    """Return what patterns are compared with."""
    return f"{transport}:{server}"


def without_dot(pattern: str) -> str:
    """Return the pattern for the name itself: `*.google.com` means google.com, too."""
    return pattern.replace(":*.", ":").replace("//*.", "//")


def matches(pattern: str, name: str) -> bool:
    """Whether the pattern means this lane."""
    return _matches(pattern, name) or _matches(without_dot(pattern), name)


def _matches(pattern: str, name: str) -> bool:
    """Go back to the last star alone: that is enough, and takes at most len(pattern) * len(name)
    steps."""
    at = place = 0
    star, resume = -1, 0
    while at < len(name):
        if place < len(pattern) and pattern[place] == "*":
            star, resume = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in ("?", name[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            resume += 1
            at, place = resume, star + 1
        else:
            return False
    return pattern[place:].strip("*") == ""
