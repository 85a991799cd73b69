"""OpenAPI 3.1 of the routes, made from their types."""

from collections.abc import Sequence
from http import HTTPStatus
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT

from postroad.api.answering import MEDIA_TYPE
from postroad.api.problems import Problem
from postroad.api.progress import NDJSON
from postroad.api.request import JSON, Response, Stream
from postroad.api.routing import Parameter, Route

PROBLEMS: Final = (400, 401, 403, 404, 405, 409, 413, 429, 500, 503)
REFERENCE: Final = "#/components/schemas/{name}"
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
        "components": {"schemas": schemas.components, "securitySchemes": {"bearer": bearer}},
    }


class Schemas:
    """The JSON schemas of all types that routes take and give. They are made together, so that two
    types of one name get two names."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._kinds: list[Any] = [Problem]
        for route in routes:
            self._kinds += [each.kind for each in route.parameters.values()]
            self._kinds += [route.takes] if route.takes else []
            self._kinds += given_by(route)
        found, self.components = msgspec.json.schema_components(
            self._kinds, schema_hook=_anything, ref_template=REFERENCE
        )
        self._found = list(found)

    def of(self, kind: Any) -> Json:
        """The schema of one type."""
        return self._found[self._kinds.index(kind)]


def _anything(_kind: Any) -> Json:
    return {}


def given_by(route: Route) -> list[Any]:
    """The types that a route answers with as JSON."""
    parts = get_args(route.answer) if _is_union(route.answer) else (route.answer,)
    inner = [get_args(part)[0] if get_origin(part) is Response else part for part in parts]
    return [each for each in inner if each not in (Stream, bytes, None, type(None))]


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def _operation(route: Route, schemas: Schemas) -> Json:
    name = route.handler.__name__
    said: Json = {
        "summary": name.replace("_", " ").capitalize(),
        "description": " ".join((route.handler.__doc__ or "").split()),
        "operationId": name,
    }
    if route.facts.scope is None:
        said["security"] = []
    if route.parameters:
        said["parameters"] = [_parameter(each, schemas) for each in route.parameters.values()]
    if route.takes:
        body = {route.facts.takes_media: {"schema": schemas.of(route.takes)}}
        said["requestBody"] = {"content": body, "required": True}
    problem = {MEDIA_TYPE: {"schema": schemas.of(Problem)}}
    said["responses"] = _good(route, schemas) | {
        str(status): {"description": HTTPStatus(status).phrase, "content": problem}
        for status in PROBLEMS
        if status not in route.facts.also
    }
    return said


def _good(route: Route, schemas: Schemas) -> Json:
    content: Json = {}
    kinds = [schemas.of(kind) for kind in given_by(route)]
    if kinds:
        content[JSON] = {"schema": kinds[0] if len(kinds) == 1 else {"anyOf": kinds}}
    if Stream in get_args(route.answer):
        content[NDJSON] = {}
    for media in route.facts.gives_media:
        content[media] = {"schema": {"type": "string"}}
    return {
        str(status): {"description": HTTPStatus(status).phrase}
        | ({"content": content} if content else {})
        for status in (route.facts.status, *route.facts.also)
    }


def _parameter(each: Parameter, schemas: Schemas) -> Json:
    schema = dict(schemas.of(each.kind))
    required = each.default is NODEFAULT
    if not required:
        schema["default"] = msgspec.to_builtins(each.default)
    said: Json = {"name": each.name, "in": each.place, "required": required, "schema": schema}
    if "description" in schema:
        said["description"] = schema["description"]
    return said
