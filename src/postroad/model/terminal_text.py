"""Foreign text on a terminal: characters that would control the terminal are escaped."""

from typing import Final

STEERING: Final = (
    *range(0x20),
    *range(0x7F, 0xA0),  # delete, and C1: what ESC begins, in one character
    0x061C,  # from here on: marks that turn the direction of writing, and other breaks of lines
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),  # halves of characters, which no terminal can be sent
)
LAYOUT: Final = "\n\t"


def _shown(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


ONE_LINE: Final = {code: _shown(code) for code in STEERING}
LINES: Final = {code: text for code, text in ONE_LINE.items() if chr(code) not in LAYOUT}
IN_JSON: Final = {code: f"\\u{code:04x}" for code in STEERING if code >= 0x20}


def escaped(text: str) -> str:
    """Escape control characters; line breaks and tabs stay."""
    return text if text.isascii() and text.isprintable() else text.translate(LINES)


def escaped_line(text: str) -> str:
    """Escape control characters, line breaks and tabs."""
    return text if text.isascii() and text.isprintable() else text.translate(ONE_LINE)


def escaped_json(text: str) -> str:
    """Escape control characters that JSON allows raw; its meaning stays the same."""
    return text if text.isascii() and "\x7f" not in text else text.translate(IN_JSON)
