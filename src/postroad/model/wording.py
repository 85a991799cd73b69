"""Names, times and durations as people read them."""

import re
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

PLAIN: Final = re.compile(r"[a-z][a-z_.-]{0,19}|v?[0-9]{1,4}|")
"""Parts of a path that are shown: words, short numbers, nothing. Tokens are none of these."""
PARTS_MAX: Final = 6
UNITS_S: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def public_name(name: str) -> str:
    """Return a queue's name without what may be secret in it. Of a URL that is its server and the
    plain words of its path; where more was left out, a few digits tell it from others."""
    scheme, mark, rest = name.partition("://")
    if not mark:
        return name
    server, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    parts = path.split("/")[:PARTS_MAX]
    shown = "/".join(part if PLAIN.fullmatch(part) else "…" for part in parts)
    public = f"{scheme}://{server.rpartition('@')[2]}{slash}{shown}"
    if public == name:
        return name
    return f"{public}~{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"


def moment(at_ms: int) -> str:
    """Write a time for people, to the second."""
    return f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def exact_duration(ms: int) -> str:
    """Write a duration with all its units: "1 h 1.5 s"."""
    left_ms, words = ms, []
    for unit, seconds in UNITS_S[:-1]:
        if left_ms >= seconds * 1000:
            words.append(f"{left_ms // (seconds * 1000)} {unit}")
            left_ms %= seconds * 1000
    if left_ms or not words:
        words.append(f"{left_ms / 1000:g} s")
    return " ".join(words)


def duration_text(ms: int) -> str:
    """Write a duration in its two largest units."""
    left_s, words = ms // 1000, []
    for unit, seconds in UNITS_S:
        if left_s >= seconds:
            words.append(f"{left_s // seconds} {unit}")
            left_s %= seconds
    return " ".join(words[:2]) or "0 s"
