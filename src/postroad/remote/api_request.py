"""Requests to the API and their answers, however they travel."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from postroad.model.errors import BadInput


class ApiAnswer(Struct, frozen=True):
    """The answer of a server."""

    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        """Decode the content."""
        return msgspec.json.decode(self.content)


class ApiRequest(Struct, frozen=True):
    """A request: the path as it goes over the wire (`part` quotes what is not ours), the query's
    values as texts, or None for what is left out."""

    method: str
    path: str
    query: Mapping[str, object] = {}
    content: bytes = b""
    headers: Mapping[str, str] = {}

    @property
    def query_text(self) -> str:
        """The query as it stands in an address."""
        given = {name: value for name, value in self.query.items() if value not in (None, "")}
        return urlencode(given)


def part(text: str) -> str:
    """Quote a text as one part of a path. An empty one would make the path another one."""
    if not text:
        raise BadInput("an id or a name is empty: give one")
    return quote(text, safe="", errors="replace")
