"""Templates: `{{ column }}` and `{{ column | filter }}`; nothing loops, calls or reaches out."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from postroad.model.errors import BadInput

TEMPLATE_CHARACTERS_MAX: Final = 20_000
TAG: Final = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
PIPE: Final = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)((?:\s*\|\s*[a-z]+(?:\('[^']*'\))?)*)\s*")
STEP: Final = re.compile(r"\|\s*([a-z]+)(?:\('([^']*)'\))?")
FILTERS: Final[dict[str, Callable[[str, str], str]]] = {
    "upper": lambda value, _: value.upper(),
    "lower": lambda value, _: value.lower(),
    "title": lambda value, _: value.title(),
    "capitalize": lambda value, _: value.capitalize(),
    "trim": lambda value, _: value.strip(),
    "default": lambda value, other: value or other,
}


class BadTemplate(BadInput):
    """The template cannot be used; its place and what to write instead are said."""


class Piece(Struct, frozen=True):
    """Text as it is, or a column's value through some filters."""

    text: str
    column: str = ""
    filters: tuple[tuple[str, str], ...] = ()


class Template:
    """A template that has been read."""

    def __init__(self, text: str) -> None:
        if not text.strip():
            raise BadTemplate("the template is empty")
        if len(text) > TEMPLATE_CHARACTERS_MAX:
            raise BadTemplate(f"the template has over {TEMPLATE_CHARACTERS_MAX} characters")
        self.text = text
        self._pieces = _read(text)
        self.variables = frozenset(piece.column for piece in self._pieces if piece.column)

    def check(self, columns: tuple[str, ...]) -> None:
        """Whether every variable is a column."""
        missing = sorted(self.variables - set(columns))
        if missing:
            have = ", ".join(columns) or "none"
            raise BadTemplate(
                f"the template asks for {', '.join(missing)}; the columns are: {have}"
            )

    def render(self, values: Mapping[str, str]) -> str:
        """The text for one recipient."""
        return "".join(
            _fill(piece, values) if piece.column else piece.text for piece in self._pieces
        )


def _fill(piece: Piece, values: Mapping[str, str]) -> str:
    value = values[piece.column]
    for name, argument in piece.filters:
        value = FILTERS[name](value, argument)
    return value


def _read(text: str) -> list[Piece]:
    pieces, end = list[Piece](), 0
    for tag in TAG.finditer(text):
        pieces.append(_plain(text, end, tag.start()))
        pieces.append(_tag(text, tag))
        end = tag.end()
    return [*pieces, _plain(text, end, len(text))]


def _plain(text: str, start: int, end: int) -> Piece:
    for mark in ("{{", "}}", "{%", "%}", "{#"):
        at = text.find(mark, start, end)
        if at >= 0:
            raise _bad(text, at, f"{mark!r} stands alone: only {{{{ column }}}} is understood")
    return Piece(text[start:end])


def _tag(text: str, tag: re.Match[str]) -> Piece:
    inner = PIPE.fullmatch(tag[1])
    if inner is None:
        raise _bad(
            text, tag.start(), f"{tag[0]!r} is not {{{{ column }}}} or {{{{ column | filter }}}}"
        )
    filters = tuple((step[1], step[2] or "") for step in STEP.finditer(inner[2]))
    for name, _ in filters:
        if name not in FILTERS:
            raise _bad(text, tag.start(), f"no filter {name!r}: there are {', '.join(FILTERS)}")
    return Piece("", inner[1], filters)


def _bad(text: str, at: int, why: str) -> BadTemplate:
    line = text.count("\n", 0, at) + 1
    return BadTemplate(f"template line {line}: {why}")
