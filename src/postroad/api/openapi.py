"""OpenAPI 3.1 of the routes, made from their types."""

from collections.abc import Sequence
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT

from postroad.api.answering import MEDIA_TYPE
from postroad.api.examples import example
from postroad.api.progress import NDJSON, ProgressLine
from postroad.api.request import JSON, Response, Stream
from postroad.api.routing import Parameter, Route
from postroad.model.phrases import PHRASES
from postroad.model.problem import Problem

FORM: Final = "application/x-www-form-urlencoded"
EVERYWHERE: Final = (400, 403, 404, 405, 408, 429, 431, 500, 503)
"""Statuses of problems that any request may be answered with."""
SERVER: Final = "server"
"""The group of routes that are about the server itself."""
REFERENCE: Final = "#/components/schemas/{name}"
PARAMETERS: Final = {
    "id": "An id, as receipts and lists show it",
    "name": "The name that it was given",
    "box": "The mailbox's name",
    "owner": "The tenant of a credential",
    "key": "The message's key, as its provider was given it",
    "limit": "At most so many",
    "order": "Which come first, by acceptance",
    "prefix": "Only of queues whose names begin so",
    "level": "Only at this retry level",
    "order_key": "Only with this order key",
    "recipient": "Only to this recipient, as mailto:ann@example.com",
    "text": "Only with this text in the last error",
    "queue": "The queue's name: a handler's, or an address",
    "lane": "The lane's number",
    "url": "The webhook's URL; without it all are listed",
    "reason": "Only those that died for this reason",
    "error": "Only those with this text in the error",
    "since": "Only from this time on",
    "until": "Only before this time",
    "state": "Only those in this state",
    "step": "How long a bucket is",
    "by": "What figures are shown by, beside the time",
    "format": "How the file is written",
    "actor": "Only what this token did, by its id; `local` is commands on the server's machine",
    "verb": "Only this verb, as the list names it",
    "row": "The recipient's number in its campaign",
    "running": "Stop it also when it is running",
    "wait_s": "How long to wait for the process that may be sending it",
    "Idempotency-Key": "Within a day the same key and body give the first receipt again",
}
"""What a parameter means whose type does not say it."""
Json = dict[str, Any]


def document(routes: Sequence[Route]) -> Json:
    """The whole description."""
    schemas = Schemas(routes)
    paths: dict[str, Json] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    bearer = {"type": "http", "scheme": "bearer", "description": "`postroad token make`"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Postroad",
            "version": "1",
            "description": "Hand it a message for somebody else's server, and it gets there.",
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "responses": _problems(routes, schemas),
            "securitySchemes": {"bearer": bearer},
        },
    }


class Schemas:
    """The JSON schemas of all types that routes take and give. They are made together, so that two
    types of one name get two names."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._kinds: list[Any] = [Problem, ProgressLine]
        for route in routes:
            self._kinds += [each.kind for each in route.parameters.values()]
            self._kinds += [route.takes] if route.takes else []
            self._kinds += [*given_by(route), *route.facts.lines]
        found, self.components = msgspec.json.schema_components(
            self._kinds, schema_hook=_anything, ref_template=REFERENCE
        )
        self._found = list(found)
        _tidy(self.components)

    def of(self, kind: Any) -> Json:
        """The schema of one type."""
        return self._found[self._kinds.index(kind)]


def _anything(_kind: Any) -> Json:
    return {"description": "Any JSON."}


def _tidy(schema: Any) -> None:
    """Leave out defaults that are objects: makers of clients refuse a whole type for one. Write
    docstrings as one line: Python 3.13 keeps other blanks of them than those before it."""
    if isinstance(schema, list):
        for each in schema:
            _tidy(each)
    elif isinstance(schema, dict):
        if isinstance(schema.get("default"), dict):
            del schema["default"]
        if isinstance(schema.get("description"), str):
            schema["description"] = " ".join(schema["description"].split())
        for each in schema.values():
            _tidy(each)


def given_by(route: Route) -> list[Any]:
    """The types that a route answers with as JSON."""
    parts = get_args(route.answer) if _is_union(route.answer) else (route.answer,)
    inner = [get_args(part)[0] if get_origin(part) is Response else part for part in parts]
    return [each for each in inner if each not in (Stream, bytes, None, type(None))]


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def _operation(route: Route, schemas: Schemas) -> Json:
    words = " ".join((route.handler.__doc__ or "").split())
    said: Json = {
        "summary": words.partition(". ")[0].removesuffix("."),
        "description": words,
        "operationId": route.handler.__name__,
        "tags": [group_of(route.path)],
    }
    if route.facts.is_public:
        said["security"] = []
    if route.facts.scope is not None:
        said["description"] += f" Scope: `{route.facts.scope}`."
    if route.parameters:
        said["parameters"] = [_parameter(each, schemas) for each in route.parameters.values()]
    if route.takes:
        said["requestBody"] = _body(route, schemas)
    said["responses"] = _good(route, schemas) | {
        str(status): {"$ref": f"#/components/responses/{_name(status)}"}
        for status in problems_of(route)
        if status not in route.facts.also
    }
    for status in {*route.facts.also} & {*problems_of(route)}:
        answer = said["responses"][str(status)]
        answer["content"] = answer["content"] | _problem(schemas)
    return said


def group_of(path: str) -> str:
    """The word that routes of one kind share."""
    first, _, rest = path.strip("/").partition("/")
    word = rest.partition("/")[0].partition(":")[0]
    return word if first == "v1" and "." not in word else SERVER


def problems_of(route: Route) -> list[int]:
    """The statuses of the problems that a route may answer with."""
    found = {*EVERYWHERE}
    if not route.facts.is_public or route.facts.by_code:
        found.add(401)
    if route.method != "GET":
        found |= {409, 413}
    if route.decoder is not None:
        found.add(415)
    return sorted(found)


def _problems(routes: Sequence[Route], schemas: Schemas) -> Json:
    """The answers that routes share. Written out at each of them they were two thirds of all."""
    content = _problem(schemas)
    return {
        _name(status): {"description": PHRASES[status], "content": content}
        for status in sorted({status for route in routes for status in problems_of(route)})
    }


def _problem(schemas: Schemas) -> Json:
    shown = example(Problem, whole=True) | {"status": 400}
    return {MEDIA_TYPE: {"schema": schemas.of(Problem), "example": shown}}


def _name(status: int) -> str:
    return PHRASES[status].title().replace(" ", "")


def _body(route: Route, schemas: Schemas) -> Json:
    media = route.facts.takes_media
    if media in (JSON, NDJSON):
        given = {
            "schema": schemas.of(route.takes),
            "example": example(route.takes, whole=False),
        }
    elif media == FORM:
        given = {"schema": schemas.of(route.takes)}
    else:
        given = {"schema": {"type": "string", "format": "binary"}}
    words = " ".join((route.takes.__doc__ or "").split())
    words = f"One a line: {words}" if media == NDJSON else words
    return {"description": words, "content": {media: given}, "required": True}


def _good(route: Route, schemas: Schemas) -> Json:
    content: Json = {}
    kinds = given_by(route)
    if kinds:
        content[JSON] = {"schema": _any(kinds, schemas), "example": example(kinds[0], whole=True)}
    lines = route.facts.lines
    if Stream in get_args(route.answer):
        lines = (ProgressLine,)
    for media in route.facts.gives_media:
        content[media] = {"schema": {"type": "string"}}
    if lines:
        content[NDJSON] = {"schema": _any(lines, schemas)}
    return {
        str(status): {"description": PHRASES[status]} | ({"content": content} if content else {})
        for status in (route.facts.status, *route.facts.also)
    }


def _any(kinds: Sequence[Any], schemas: Schemas) -> Json:
    found = [schemas.of(kind) for kind in kinds]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _parameter(each: Parameter, schemas: Schemas) -> Json:
    schema = dict(schemas.of(each.kind))
    required = each.default is NODEFAULT
    if not required:
        schema["default"] = msgspec.to_builtins(each.default)
    words = schema.get("description") or PARAMETERS.get(each.name, "")
    return {
        "name": each.name,
        "in": each.place,
        "required": required,
        "description": words,
        "schema": schema,
    }
