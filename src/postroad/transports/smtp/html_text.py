"""The text of an HTML mail, for readers that show no HTML: in linear time."""

import re
from html import unescape
from typing import Final

TAG: Final = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9]{0,15})([^<>]*)>")
HIDDEN: Final = re.compile(r"<(?:(!--)|(script|style|head|title)\b)", re.IGNORECASE)
ENDS: Final = {
    name: re.compile(end, re.IGNORECASE)
    for name, end in (
        ("!--", "-->"),
        *((name, f"</{name}") for name in ("script", "style", "head", "title")),
    )
}
HREF: Final = re.compile(r"""\bhref\s{0,8}=\s{0,8}("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)


def _both(*names: str) -> tuple[str, ...]:
    """Tags that begin and end something."""
    return (*names, *(f"/{name}" for name in names))


LINE, EMPTY_LINE = "\0", "\0\0"
BREAKS: Final = {
    **dict.fromkeys(("br", "hr", "/li", *_both("div", "tr")), LINE),
    **dict.fromkeys(_both("p", "ul", "ol", "table", "blockquote"), EMPTY_LINE),
    **dict.fromkeys(_both("h1", "h2", "h3", "h4", "h5", "h6"), EMPTY_LINE),
    "li": f"{LINE}* ",
    "/td": " ",
    "/th": " ",
}
"""What a tag means for the text. Line ends of the source mean nothing."""


def text_of(html: str) -> str:
    """Return the text of an HTML document, with the addresses of its links behind them."""
    pieces = TAG.split(_shown(html.replace("\0", "")))
    made = [_plain(pieces[0])]
    link, since = "", 0
    for at in range(1, len(pieces), 3):
        name = pieces[at].lower()
        if name == "a":
            link, since = _address(pieces[at + 1]), len(made)
        elif name == "/a" and link:
            if link not in "".join(made[since:]):
                made.append(f" ({link})")
            link = ""
        elif name in BREAKS:
            made.append(BREAKS[name])
        made.append(_plain(pieces[at + 2]))
    return _tidied("".join(made))


def _shown(html: str) -> str:
    """Leave out comments, styles and scripts. One without an end hides the rest."""
    kept, at = [], 0
    while hidden := HIDDEN.search(html, at):
        kept.append(html[at : hidden.start()])
        ended = ENDS[(hidden[1] or hidden[2]).lower()].search(html, hidden.end())
        if ended is None:
            return "".join(kept)
        at = ended.end() if hidden[1] else html.find(">", ended.end()) + 1 or len(html)
    return "".join((*kept, html[at:])) if kept else html


def _plain(piece: str) -> str:
    return unescape(piece) if "&" in piece else piece


def _address(attributes: str) -> str:
    found = HREF.search(attributes)
    address = unescape(found[1].strip("\"'")).strip() if found else ""
    return address if address.startswith(("http://", "https://", "mailto:")) else ""


def _tidied(text: str) -> str:
    """Single blanks, none at the edges of lines, and one empty line at most."""
    lines: list[str] = []
    for line in text.split(LINE):
        stripped = " ".join(line.split())
        if stripped or (lines and lines[-1]):
            lines.append(stripped)
    return "\n".join(lines).strip("\n") + "\n"
