"""Which request each verb about events is."""

from typing import Final

from msgspec import Raw

from postroad.model.bodies import encode_body
from postroad.model.durations import seconds_of
from postroad.model.errors import BadBody, Forbidden
from postroad.ports.entropy import secret_bytes
from postroad.remote.calls import Args, VerbCall, Verbs, ask
from postroad.remote.client import RemoteClient
from postroad.verbs.endpoint_facts import EndpointFacts
from postroad.verbs.events import EventContent, EventFacts, EventReceipt

NONE_MEANS: Final = ("filter", "auth", "tls")
TIMES: Final = ("connect_timeout", "timeout", "keep_bodies", "overlap", "expires_in")


class ShownEvent(EventFacts, frozen=True):
    """An event as the API shows it."""

    body: Raw
    hidden: str = ""


def _seconds(args: Args) -> Args:
    return args | {name: seconds_of(args[name]) for name in TIMES if name in args}


async def _change(client: RemoteClient, args: Args) -> EndpointFacts:
    """Change an endpoint. What is None is said, since that means something here."""
    none: Args = {name: None for name in NONE_MEANS if name in args and args[name] is None}
    if not args["url"]:
        del args["url"]
    call = VerbCall("PATCH", "/v1/endpoints/{id}", shape=lambda given: _seconds(given) | none)
    facts: EndpointFacts = await ask(client, call, args, EndpointFacts)
    return facts


ENDPOINTS: Final[Verbs] = {
    "create": VerbCall("POST", "/v1/endpoints", shape=_seconds),
    "get": VerbCall("GET", "/v1/endpoints/{id}"),
    "list": VerbCall("GET", "/v1/endpoints"),
    "change": _change,
    "enable": VerbCall(
        "PATCH", "/v1/endpoints/{id}", again=True, shape=lambda args: args | {"state": "enabled"}
    ),
    "disable": VerbCall(
        "PATCH", "/v1/endpoints/{id}", again=True, shape=lambda args: args | {"state": "disabled"}
    ),
    "rotate": VerbCall("POST", "/v1/endpoints/{id}/rotate", shape=_seconds),
    "feed": VerbCall("GET", "/v1/endpoints/{id}/feed"),
    "ack": VerbCall("POST", "/v1/endpoints/{id}/ack", again=True),
    "recover": VerbCall("POST", "/v1/endpoints/{id}/recover"),
    "test": VerbCall("POST", "/v1/endpoints/{id}/test"),
    "stats": VerbCall("GET", "/v1/endpoints/{id}/stats"),
    "rules": VerbCall("GET", "/v1/endpoint-rules"),
    "set_rules": VerbCall("PUT", "/v1/endpoint-rules", again=True, everybody="everywhere"),
    "delete": VerbCall("DELETE", "/v1/endpoints/{id}"),
}
EVENT_TYPES: Final[Verbs] = {
    "set": VerbCall("POST", "/v1/event-types", again=True, every=True),
    "get": VerbCall("GET", "/v1/event-types/{name}", every=True),
    "list": VerbCall("GET", "/v1/event-types", every=True),
    "import_openapi": VerbCall(
        "POST",
        "/v1/event-types:import",
        again=True,
        every=True,
        shape=lambda args: {"webhooks": {}, **args["document"]},
    ),
    "export_openapi": VerbCall("GET", "/v1/event-types:export", every=True),
}


async def _publish(client: RemoteClient, args: Args) -> EventReceipt:
    """With a key of its own, where none is given, so that it can be repeated."""
    if isinstance(args["body"], bytes):
        raise BadBody("the body of an event is JSON: give plain data, not bytes")
    body = {"body": Raw(encode_body(args.pop("body")))}
    if args["key"] is None:
        args["key"] = f"remote-{secret_bytes(12).hex()}"
    call = VerbCall("POST", "/v1/events", again=True, shape=lambda given: given | body)
    said: EventReceipt = await ask(client, call, args, EventReceipt)
    return said


async def _event(client: RemoteClient, args: Args) -> EventContent:
    found: ShownEvent = await ask(client, VerbCall("GET", "/v1/events/{id}"), args, ShownEvent)
    if found.hidden:
        raise Forbidden(found.hidden)
    facts = {name: getattr(found, name) for name in EventFacts.__struct_fields__}
    return EventContent(**facts, body=bytes(found.body))


EVENTS: Final[Verbs] = {
    "publish": _publish,
    "list": VerbCall("GET", "/v1/events"),
    "unmatched": VerbCall("GET", "/v1/events:unmatched"),
    "get": _event,
}
REPLAYS: Final[Verbs] = {
    "start": VerbCall("POST", "/v1/replays"),
    "get": VerbCall("GET", "/v1/replays/{id}"),
    "list": VerbCall("GET", "/v1/replays"),
    "pause": VerbCall("POST", "/v1/replays/{id}/pause", again=True),
    "resume": VerbCall("POST", "/v1/replays/{id}/resume", again=True),
    "cancel": VerbCall("POST", "/v1/replays/{id}/cancel"),
}
