"""The operator's colour, made readable: dark enough on light, light enough on dark."""

from typing import Final

CONTRAST: Final = 4.6
"""What the rules for readable text ask for is 4.5."""
LIGHT: Final = (241, 243, 246)
DARK: Final = (27, 31, 38)
"""The grounds of app.css that are hardest to read on."""
STEPS: Final = 40
Colour = tuple[int, ...]


def look(accent: str) -> bytes:
    """A style sheet with a colour in place of ours; empty if none is given."""
    if not accent:
        return b""
    own = tuple(bytes.fromhex(accent.removeprefix("#")))
    words = f"light-dark({_hex(toward(own, 0, LIGHT))}, {_hex(toward(own, 255, DARK))})"
    text = "#ffffff" if contrast(own, (255, 255, 255)) >= CONTRAST else "#16191d"
    ground = own if text == "#ffffff" else toward(own, 255, (22, 25, 29))
    rules = f"--accent: {words}; --accent-ground: {_hex(ground)}; --accent-text: {text};"
    return f":root {{ {rules} }}\n".encode()


def toward(own: Colour, end: int, ground: Colour) -> Colour:
    """The colour, moved to black or white until it is readable on a ground."""
    found = own
    for step in range(STEPS + 1):
        found = tuple(round(part + (end - part) * step / STEPS) for part in own)
        if contrast(found, ground) >= CONTRAST:
            break
    return found


def contrast(one: Colour, other: Colour) -> float:
    """The contrast of two colours, from 1 to 21."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Colour) -> float:
    shares = [part / 255 for part in colour]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _hex(colour: Colour) -> str:
    return "#" + bytes(colour).hex()
