"""What a status of HTTP is called, by RFC 9110. Python 3.13 renamed four of them; what we write
down is the same on all Pythons."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

PHRASES: Final[Mapping[int, str]] = {
    **{status.value: status.phrase for status in HTTPStatus},
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}
