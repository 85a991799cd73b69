"""Telephone numbers: how one is checked, and the one form in which it is stored."""

import re
from typing import Final

from postroad.model.errors import BadInput

PHONE: Final = re.compile(r"\+?[0-9]{5,15}")
SPACING: Final = str.maketrans("", "", " -().")


def normal_phone(text: str) -> str:
    """Normalise a telephone number to its international form."""
    number = text.translate(SPACING)
    if not PHONE.fullmatch(number):
        raise BadInput(f"{text[:40]!r} is no telephone number: write +6591234567")
    return number if number.startswith("+") else "+" + number
