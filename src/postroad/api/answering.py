"""How errors become answers: our own, the web framework's, and faults."""

from typing import Any, Final

import msgspec
from litestar import Request, Response
from litestar.exceptions import (
    HTTPException,
    InternalServerException,
    NotFoundException,
    ValidationException,
)
from litestar.openapi.datastructures import ResponseSpec

from postroad.api.problems import BadRequest, Problem, field_error, problem
from postroad.model import errors

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = {429: "60", 503: "2"}
Ask = Request[Any, Any, Any]


def answer(told: Problem) -> Response[bytes]:
    """A problem as a response."""
    headers = {}
    if told.status in RETRY_AFTER_S:
        headers["retry-after"] = RETRY_AFTER_S[told.status]
    if told.status == 401:
        headers["www-authenticate"] = 'Bearer realm="postroad"'
    return Response(
        msgspec.json.encode(told), status_code=told.status, media_type=MEDIA_TYPE, headers=headers
    )


def on_road_error(_request: Ask, error: errors.PostroadError) -> Response[bytes]:
    """One of our own."""
    return answer(problem(error))


def on_http_error(request: Ask, error: HTTPException) -> Response[bytes]:
    """What the web framework finds wrong with a request."""
    if isinstance(error, ValidationException):
        return answer(problem(_bad_fields(error)))
    status = error.status_code
    detail = error.detail
    if isinstance(error, NotFoundException):
        detail = f"there is nothing at {request.url.path}: see /v1/openapi.json for what there is"
    elif status == 413:
        most = request.route_handler.resolve_request_max_body_size()
        detail = f"the request has more than {most} bytes: send less at once"
    elif isinstance(error, InternalServerException):  # what reading a body raises
        status, detail = 400, "the request broke off before its end"
    word = {404: "not-found", 405: "method-not-allowed", 413: "body-too-large"}.get(status)
    title = (word or "bad-request").replace("-", " ").capitalize()
    told = Problem(f"urn:postroad:problem:{word or 'bad-request'}", title, status, detail)
    reply = answer(told)
    for name, value in (error.headers or {}).items():
        reply.headers[name] = value
    return reply


def _bad_fields(error: ValidationException) -> BadRequest:
    found = error.extra if isinstance(error.extra, list) else []
    fields = tuple(
        field_error(str(each.get("key", "")), str(each.get("message", "")).lower())
        for each in found
        if isinstance(each, dict)
    )
    told = "; ".join(f"{each.field}: {each.message}" for each in fields) or error.detail
    return BadRequest(told, fields)


def on_any_error(request: Ask, error: Exception) -> Response[bytes]:
    """A fault of ours: logged with its trace, told without it."""
    request.app.state.context.log.error(
        "a request broke", path=request.url.path, method=request.method, exc_info=error
    )
    return answer(problem(error))


HANDLERS: Final[dict[int | type[Exception], Any]] = {
    errors.PostroadError: on_road_error,
    HTTPException: on_http_error,
    Exception: on_any_error,
}
STATUSES: Final = (400, 401, 403, 404, 405, 409, 413, 429, 500, 503)
RESPONSES: Final = {
    status: ResponseSpec(
        Problem, media_type=MEDIA_TYPE, generate_examples=False, description="A problem"
    )
    for status in STATUSES
}
