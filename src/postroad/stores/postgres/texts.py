"""Texts as PostgreSQL takes them."""


def plain(text: str) -> str:
    """A text that PostgreSQL takes: no zero characters, no halves of characters."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
