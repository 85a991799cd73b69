"""Groups of verbs whose calls are requests: each has the signature, checks, types and help text of
the local verb, and a line in a table that says which request it is."""

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from functools import wraps
from typing import Any, Final, TypeVar, get_type_hints

import msgspec
from msgspec import Struct

from postroad.model.durations import seconds_of
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import NotOnRemoteRoad, NotPostroad
from postroad.model.tokens import EVERY_TENANT
from postroad.remote.api_request import ApiRequest, part
from postroad.remote.client import NDJSON, RemoteClient
from postroad.verbs.bounding import checking

T = TypeVar("T")
Args = dict[str, Any]
Shape = Callable[[Args], Args]
Custom = Callable[[RemoteClient, Args], Any]
"""A verb that is more than one request: it gets the arguments by name."""
LINE_BYTES_MAX: Final = 1 << 20
NOBODY_ELSE: Final = "tenant=None: a server answers for one tenant at a time, name it"


class VerbCall(Struct, frozen=True):
    """The request that a verb is. Arguments that stand in the path as `{name}` go there, others
    into the query of a GET or DELETE, or into the body of others."""

    method: str
    path: str
    again: bool = False
    """Whether it may be repeated though it may have been done: twice is as good as once."""
    every: bool = False
    """Whether it answers for every tenant, where none is named."""
    everybody: str = ""
    """The parameter that stands for the tenant `*`, whom no header can name."""
    shape: Shape | None = None
    """Turns the verb's arguments into the request's parameters."""
    gives: str = ""
    """The field of the answer that the verb returns; else the whole answer."""


Verbs = Mapping[str, VerbCall | Custom]


def inherited(_client: RemoteClient, _args: Args) -> Any:
    """Marks a verb that only uses other verbs of its group, and needs no request of its own."""


def remote_group(kind: type[T], calls: Verbs, client: RemoteClient) -> T:
    """A group whose verbs ask a server. A public verb that is not in the table is refused by
    name."""
    members: dict[str, Any] = {}
    for name, verb in inspect.getmembers(kind, inspect.isfunction):
        if name.startswith("_") or calls.get(name) is inherited:
            continue
        known = calls.get(name)
        members[name] = _refused(kind, name) if known is None else _asking(verb, known)
    made: T = object.__new__(type(f"Remote{kind.__name__}", (kind,), members))
    vars(made)["_client"] = client
    return made


def _refused(kind: type, name: str) -> Callable[..., Any]:
    def verb(*_: object, **__: object) -> Any:
        raise NotOnRemoteRoad(
            f"{name}: {kind.__name__} of a road that another process serves cannot do this; do it "
            "in the process that has the road open"
        )

    return verb


def _asking(verb: Callable[..., Any], call: VerbCall | Custom) -> Callable[..., Any]:
    signature = inspect.signature(verb)
    gives = get_type_hints(verb).get("return")

    def arguments(*given: object, **named: object) -> Args:
        """All arguments by name, with the options among them."""
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        args: Args = {}
        for name, value in list(bound.arguments.items())[1:]:
            is_options = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
            args |= value if is_options else {name: value}
        return args

    if not isinstance(call, VerbCall) and not inspect.iscoroutinefunction(verb):

        @wraps(verb)
        def plain(self: Any, /, *given: Any, **named: Any) -> Any:
            return call(self._client, arguments(self, *given, **named))

        return checking(plain)

    @wraps(verb)
    async def asked(self: Any, /, *given: Any, **named: Any) -> Any:
        args = arguments(self, *given, **named)
        if isinstance(call, VerbCall):
            return await ask(self._client, call, args, gives)
        return await call(self._client, args)

    return checking(asked)


async def ask(client: RemoteClient, call: VerbCall, args: Args, gives: Any = None) -> Any:
    """Make the request of a verb, and return what the verb returns."""
    answer = await client.ask(request_of(client, call, args), again=call.again)
    if gives is type(None) or gives is None:
        return None
    if not call.gives:
        return client.read(answer.content, gives)
    fields = client.read(answer.content, dict[str, Any])
    return msgspec.convert(fields.get(call.gives), gives)


def request_of(client: RemoteClient, call: VerbCall, args: Args) -> ApiRequest:
    """The request that a verb with these arguments is."""
    tenant = args.get("tenant", None if call.every else DEFAULT_TENANT)
    if tenant is None and not call.every:
        raise NotOnRemoteRoad(NOBODY_ELSE)
    given = {name: value for name, value in args.items() if name != "tenant"}
    given = {name: value for name, value in given.items() if value is not None}
    if call.everybody and tenant == EVERY_TENANT:
        tenant, given[call.everybody] = DEFAULT_TENANT, True
    if call.shape is not None:
        given = call.shape(given)
    path = call.path
    for name in [name for name in given if f"{{{name}}}" in path]:
        path = path.replace(f"{{{name}}}", part(str(given.pop(name))))
    headers = client.for_tenant(tenant)
    if call.method in ("POST", "PUT", "PATCH"):
        return ApiRequest(call.method, path, {}, msgspec.json.encode(_plain(given)), headers)
    return ApiRequest(call.method, path, {k: _text(v) for k, v in given.items()}, b"", headers)


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return seconds_of(value)
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return value if isinstance(value, str | bytes | Struct) else _listed(value)


def _listed(value: Any) -> Any:
    return list(value) if hasattr(value, "__iter__") else value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        return str(seconds_of(value))
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value.value if isinstance(value, Enum) else value)


async def steps(client: RemoteClient, call: VerbCall, args: Args, kind: Any) -> AsyncIterator[Any]:
    """The steps of a change of many messages, as its server tells them."""
    asked = request_of(client, call, args)
    asked = ApiRequest("POST", asked.path, {}, asked.content, {**asked.headers, "accept": NDJSON})
    last: Args = {}
    async with client.stream(asked) as pieces:
        async for line in lines_of(pieces):
            last = client.read(line, dict[str, Any])
            said = last.get("said")
            if said is not None:
                yield msgspec.convert(said[call.gives] if call.gives else said, kind)
    client.check_end(last)


async def lines_of(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of an answer that comes in pieces."""
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        if len(rest) > LINE_BYTES_MAX:
            raise NotPostroad("what answers there is no Postroad: its lines have no end")
        for line in whole:
            if line:
                yield line
    if rest:
        yield rest
