"""Counts the segments of an SMS: GSM 03.38 where its letters allow, else UCS-2."""

from typing import Final

from msgspec import Struct

BASIC: Final = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    "ÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENDED: Final = frozenset("\f^{}\\[~]|€")
GSM: Final = BASIC | EXTENDED
GSM_ONE, GSM_PART = 160, 153
UCS_ONE, UCS_PART = 70, 67


class Segments(Struct, frozen=True):
    """The size of a text."""

    count: int
    units: int
    encoding: str


def count_segments(text: str) -> Segments:
    """Count the segments. A pair (an escape, a surrogate) is not cut by the end of a segment."""
    if len(text) <= GSM_ONE and BASIC.issuperset(text):
        return Segments(1, len(text), "GSM-7")
    if GSM.issuperset(text):
        sizes = [2 if letter in EXTENDED else 1 for letter in text]
        return _count(sizes, GSM_ONE, GSM_PART, "GSM-7")
    return _count([2 if ord(letter) > 0xFFFF else 1 for letter in text], UCS_ONE, UCS_PART, "UCS-2")


def _count(sizes: list[int], one: int, part: int, encoding: str) -> Segments:
    units = sum(sizes)
    if units <= one:
        return Segments(1, units, encoding)
    count, left = 1, part
    for size in sizes:
        if size > left:
            count, left = count + 1, part
        left -= size
    return Segments(count, units, encoding)
