"""How errors become answers: a problem document with its status and headers."""

from collections.abc import Mapping
from typing import Final

from postroad.api.problems import problem
from postroad.api.request import Response
from postroad.model.problem import Problem

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = {429: "60", 503: "2"}


def answer(error: Exception, headers: Mapping[str, str] | None = None) -> Response[Problem]:
    """An error as a response."""
    told = problem(error)
    given = dict(headers or {})
    if told.status in RETRY_AFTER_S:
        given["retry-after"] = RETRY_AFTER_S[told.status]
    if told.status == 401:
        given["www-authenticate"] = 'Bearer realm="postroad"'
    return Response(told, told.status, given, MEDIA_TYPE)
