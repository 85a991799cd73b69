"""Foreign text: what receivers, providers, hubs, brokers and handlers say, made fit to be stored
and shown."""

from typing import Final

CHARACTERS_MAX: Final = 2_000
"""Maximum length of an error or reason; the rest is cut."""
NAME_CHARACTERS_MAX: Final = 200
"""Maximum length of a provider's id or code."""
LOST: Final = "\N{REPLACEMENT CHARACTER}"
KEPT: Final = frozenset("\t\n\r")
HALVES: Final = range(0xD800, 0xE000)
"""Lone surrogates: they are in no encoding, and a JSON escape or a bad name brings them in."""
CONTROLS: Final = (*range(0x20), *range(0x7F, 0xA0))
TABLE: Final = {code: LOST for code in (*CONTROLS, *HALVES) if chr(code) not in KEPT}


def clean(text: str, most: int = CHARACTERS_MAX) -> str:
    """Clean a foreign text: no zero characters (PostgreSQL takes none), no other controls but tabs
    and line ends, no lone surrogates, and not too long."""
    if len(text) > most:
        text = text[: most - 1] + "…"
    return text if text.isascii() and text.isprintable() else text.translate(TABLE)


def error_text(error: BaseException) -> str:
    """Return an exception's text, cleaned; also of one whose `__str__` raises."""
    try:
        return clean(str(error))
    except Exception as broken:  # noqa: BLE001 - a stranger's __str__ may do anything
        return f"(its text cannot be had: {type(broken).__name__})"
