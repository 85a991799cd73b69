"""Routes: which function answers which request, which scope it needs, and how much it reads."""

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import NODEFAULT, Struct, structs

from postroad.api.problems import BadRequest, NotFound, UnsupportedMediaType
from postroad.api.reading import bad_field, decode
from postroad.api.request import JSON, Request
from postroad.model.near_names import nearest
from postroad.model.problem import FieldError
from postroad.model.tokens import Scope

PUBLIC_BYTES_MAX: Final = 64 << 10
SMALL_BYTES_MAX: Final = 1 << 20
"""The largest body of a route that needs no token, and of one that needs one."""
PARAMETERS_MAX: Final = 100
CHARACTERS_SHOWN: Final = 200


class Header(Struct, frozen=True):
    """Marks a parameter that comes in a header of this name."""

    name: str


class Query(Struct, frozen=True):
    """Marks a parameter whose type is a struct: its fields are parameters of the query."""


class Parameter(Struct, frozen=True):
    """One parameter of a route, by the name that the client uses."""

    name: str
    place: str
    """`path`, `query` or `header`."""
    kind: Any
    default: Any


class Route:
    """One method of one path, and the function that answers it. Its parameters are those of the
    function: named in the path, marked as a header, or else of the query. A struct is the body, or,
    marked as such, several parameters of the query."""

    def __init__(self, method: str, path: str, handler: Callable[..., Any], facts: "Facts") -> None:
        self.method = method
        self.path = path
        self.handler = handler
        self.facts = facts
        self.changes = method != "GET" and facts.scope is not None and facts.audited
        """Whether a call leaves a line in the audit log."""
        self.parts = tuple(path.split("/"))
        hints = get_type_hints(handler, include_extras=True)
        self.answer = hints.pop("return")
        signature = inspect.signature(handler).parameters
        self._bodies = [name for name, hint in hints.items() if _is_struct(hint)]
        self.takes = hints[self._bodies[0]] if self._bodies else facts.takes
        self.decoder = msgspec.json.Decoder(self.takes) if self._bodies else None
        self._takes_request = "request" in signature
        self._groups = {name: get_args(hint)[0] for name, hint in hints.items() if _is_query(hint)}
        own = [
            (name, hints[name], signature[name].default)
            for name in signature
            if name not in ("request", *self._bodies, *self._groups)
        ]
        for group in self._groups.values():
            own += [(field.name, field.type, field.default) for field in structs.fields(group)]
        self._names = [name for name, *_ in own]
        found = [self._parameter(*each) for each in own]
        self.parameters: dict[str, Parameter] = {each.name: each for each in found}
        self._query = {each.name for each in found if each.place == "query"}
        self._headers = [each.name for each in found if each.place == "header"]
        fields = [
            (name, each.kind, each.default) for name, each in zip(self._names, found, strict=True)
        ]
        renamed = {name: each.name for name, each in zip(self._names, found, strict=True)}
        self._values = msgspec.defstruct(f"{handler.__name__}_parameters", fields, rename=renamed)
        msgspec.json.Decoder(self._values)  # a type that cannot be read fails now

    def _parameter(self, name: str, kind: Any, default: Any) -> Parameter:
        default = NODEFAULT if default is inspect.Parameter.empty else default
        if f"{{{name}}}" in self.parts:
            return Parameter(name, "path", kind, default)
        marks = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
        header = next((mark for mark in marks if isinstance(mark, Header)), None)
        if header is not None:
            return Parameter(header.name, "header", kind, default)
        return Parameter(name, "query", kind, default)

    def match(self, parts: tuple[str, ...]) -> dict[str, str] | None:
        """The values in a path of as many parts; None when it is another path."""
        found = {}
        for own, given in zip(self.parts, parts, strict=True):
            if own[:1] == "{" and given:
                found[own[1:-1]] = given
            elif own != given:
                return None
        return found

    async def arguments(self, request: Request, path: dict[str, str]) -> dict[str, Any]:
        """The function's arguments, checked against their types; then the body."""
        given = self._read(request, path)
        if self._takes_request:
            given["request"] = request
        if self.decoder is not None:
            _check_json(request.headers.get("content-type", ""))
            given[self._bodies[0]] = decode(await request.body(), self.decoder)
        return given

    def _read(self, request: Request, path: dict[str, str]) -> dict[str, Any]:
        values: dict[str, str] = dict(path)
        for name, value in read_query(request.query) if request.query else ():
            if name not in self._query:
                known = sorted(self._query)
                hint = nearest(name, known) or f": give {', '.join(known) or 'none'}"
                raise _bad_parameter(name, f"there is no such parameter{hint}", "unknown parameter")
            if name in values:
                raise _bad_parameter(name, "it is given twice: give it once", "given twice")
            values[name] = value
        for name in self._headers:
            if (given := request.headers.get(name.lower())) is not None:
                values[name] = given
        try:
            read = msgspec.convert(values, self._values, strict=False)
        except msgspec.ValidationError as error:
            wrong = bad_field(str(error), self._values)
            if wrong.fields and wrong.fields[0].field in path:
                raise nothing_at(request.path) from None
            raise wrong from None
        told = {name: getattr(read, name) for name in self._names}
        for name, group in self._groups.items():
            told[name] = group(**{field: told.pop(field) for field in group.__struct_fields__})
        return told


def _check_json(given: str) -> None:
    """Refuse a body that calls itself something else; one without a type is read as JSON."""
    media = given.partition(";")[0].strip().lower()
    if media not in ("", JSON) and not media.endswith("+json"):
        shown = media[:CHARACTERS_SHOWN]
        raise UnsupportedMediaType(
            f"{shown} is not read here: send JSON, as `content-type: {JSON}`"
        )


def _bad_parameter(name: str, text: str, short: str) -> BadRequest:
    shown = name[:CHARACTERS_SHOWN]
    return BadRequest(f"{shown}: {text}", (FieldError(shown, short),))


def _is_query(hint: Any) -> bool:
    return any(isinstance(mark, Query) for mark in get_args(hint)[1:])


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Struct)


class Facts(Struct, frozen=True):
    """What is declared about a route beside its function."""

    scope: Scope | None
    status: int = 200
    takes: Any = None
    """The type of a body that the function reads itself."""
    takes_media: str = JSON
    also: tuple[int, ...] = ()
    """Other statuses that it gives the same answer with."""
    gives_media: tuple[str, ...] = ()
    """What it answers with beside JSON."""
    lines: tuple[Any, ...] = ()
    """The types of the lines of an answer in NDJSON."""
    bytes_max: int = SMALL_BYTES_MAX
    """The largest body; 0: as the setting request_bytes_max says."""
    audited: bool = True
    """Whether a change leaves a line in the audit log. Sends do not: they have receipts."""
    any_scope: bool = False
    """Whether any token will do."""
    by_code: bool = False
    """Whether the code of a link is exchanged for a token here."""

    @property
    def is_public(self) -> bool:
        """Whether no token is needed."""
        return self.scope is None and not self.any_scope


def fetch(path: str, *, scope: Scope | None, **facts: Any) -> Callable[..., Route]:
    """Declare a route that only reads."""
    return _declare("GET", path, Facts(scope, **facts))


def give(
    path: str, *, scope: Scope | None, much: bool = False, **facts: Any
) -> Callable[..., Route]:
    """Declare a route that takes or changes something. With `much` its body may be as large as the
    setting request_bytes_max says; without a token it may be small."""
    small = SMALL_BYTES_MAX if scope else PUBLIC_BYTES_MAX
    facts.setdefault("bytes_max", 0 if much else small)
    return _declare("POST", path, Facts(scope, **facts))


def put(path: str, *, scope: Scope, **facts: Any) -> Callable[..., Route]:
    """Declare a route that sets something as a whole, and may be asked twice."""
    return _declare("PUT", path, Facts(scope, **facts))


def change(path: str, *, scope: Scope, **facts: Any) -> Callable[..., Route]:
    """Declare a route that changes what is named, and leaves the rest as it is."""
    return _declare("PATCH", path, Facts(scope, **facts))


def drop(path: str, *, scope: Scope | None, **facts: Any) -> Callable[..., Route]:
    """Declare a route that ends something."""
    return _declare("DELETE", path, Facts(scope, **facts))


def _declare(method: str, path: str, facts: Facts) -> Callable[..., Route]:
    return lambda handler: Route(method, path, handler, facts)


class Router:
    """Finds the routes of a path, by its number of parts."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._by_length: dict[int, list[Route]] = {}
        self._plain: dict[tuple[str, ...], dict[str, Route]] = {}
        for route in routes:
            if "{" in route.path:
                self._by_length.setdefault(len(route.parts), []).append(route)
            else:
                self._plain.setdefault(route.parts, {})[route.method] = route

    def find(self, path: str) -> tuple[dict[str, Route], dict[str, str]]:
        """The routes at a path by their methods, and the values in the path. Escapes are read
        part by part: `%2F` is a letter of a name."""
        parts = tuple(path.split("/"))
        if "%" in path:
            parts = tuple(map(unquote, parts))
        plain = self._plain.get(parts)
        if plain is not None:
            return plain, {}
        found: dict[str, Route] = {}
        values: dict[str, str] = {}
        for route in self._by_length.get(len(parts), ()):
            matched = route.match(parts)
            if matched is not None:
                found[route.method] = route
                values = matched
        return found, values


def nothing_at(path: str) -> NotFound:
    """The answer to a path that no route has."""
    shown = path[:CHARACTERS_SHOWN]
    return NotFound(f"there is nothing at {shown}: see /v1/openapi.json for what there is")


def read_query(query: bytes) -> list[tuple[str, str]]:
    """The parameters of a query, in order."""
    text = query.decode("latin-1")
    try:
        return parse_qsl(
            text, keep_blank_values=True, errors="replace", max_num_fields=PARAMETERS_MAX
        )
    except ValueError:
        raise BadRequest(f"a query has at most {PARAMETERS_MAX} parameters") from None
