"""Which request each verb of a remote road is."""

from base64 import b64decode
from collections.abc import AsyncIterator
from typing import Final

import msgspec
from msgspec import Raw, Struct

from postroad.model.control import Cancelled, CancelledAll, CancelState
from postroad.model.dead import DeadLetter, DeadMessage
from postroad.model.durations import seconds_of
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import Forbidden, NotCancelled, UnknownMessage
from postroad.model.named_limits import NamedLimit
from postroad.model.portal import PortalLink
from postroad.model.tenant import TenantFacts
from postroad.model.tokens import EVERY_TENANT
from postroad.model.tries import Try
from postroad.model.webhook import Attempt, AttemptFacts
from postroad.ports.entropy import secret_bytes
from postroad.remote.calls import Args, VerbCall, Verbs, ask, inherited, steps
from postroad.remote.client import RemoteClient
from postroad.verbs.messages import MessageContent
from postroad.verbs.portal import NewPortalLink
from postroad.verbs.send_again import SentAgain
from postroad.verbs.tokens import NewToken

WAIT_MAX_S: Final = 40.0
"""How long one request waits at most."""


class ShownBody(Struct, frozen=True):
    """A body as the API shows it."""

    headers: dict[str, str]
    body: Raw
    body_base64: str | None
    hidden: str = ""

    def content(self) -> bytes:
        """The body as it was sent."""
        if self.hidden:
            raise Forbidden(self.hidden)
        return bytes(self.body) if self.body_base64 is None else b64decode(self.body_base64)


class ShownLetter(ShownBody, frozen=True, kw_only=True):
    """A dead message as the API shows it."""

    message: DeadMessage
    tries: tuple[Try, ...]


class ShownAttempt(AttemptFacts, frozen=True):
    """A try as the API shows it."""

    headers: dict[str, str]
    answer: str
    hidden: str = ""


# Messages


async def _cancel(client: RemoteClient, args: Args) -> Cancelled:
    """Cancel one message. A wait of more than one request may have is made of several."""
    call = VerbCall("DELETE", "/v1/messages/{id}", shape=_waiting)
    left_s = seconds_of(args["wait"])
    while True:
        try:
            said: Cancelled = await ask(client, call, {**args, "wait": left_s}, Cancelled)
        except UnknownMessage:
            return Cancelled(args["id"], CancelState.unknown)
        except NotCancelled:
            return Cancelled(args["id"], CancelState.final)
        left_s -= WAIT_MAX_S
        running = args["running"] and said.state is CancelState.sending
        if not (running or said.state is CancelState.pending) or not left_s > 0:
            return said


def _waiting(args: Args) -> Args:
    wait_s = seconds_of(args.pop("wait"))
    return {**args, "wait_s": min(wait_s, WAIT_MAX_S)}


def _cancelling(client: RemoteClient, args: Args) -> AsyncIterator[CancelledAll]:
    call = VerbCall("POST", "/v1/messages:cancel", shape=_waiting)
    return steps(client, call, args, CancelledAll)


async def _limit(client: RemoteClient, args: Args) -> None:
    """Limit a queue, or, by the number of a lane, its credential."""
    what = args.get("what", args.get("lane"))
    name, path = ("lane", "lanes") if isinstance(what, int) else ("queue", "queues")
    rate: Args = {"rate": args["rate"]}  # None lifts the limit, so it is said
    asked = {each: value for each, value in args.items() if each not in ("what", "lane", "rate")}
    asked[name] = what
    call = VerbCall("POST", f"/v1/{path}:limit", again=True, shape=lambda given: given | rate)
    _ = await ask(client, call, asked)  # what was done, which is known


CONTROLS: Final[Verbs] = {
    "cancel": _cancel,
    "cancelling": _cancelling,
    "settle": VerbCall("POST", "/v1/messages/{id}/settle"),
    "pause": VerbCall("POST", "/v1/queues:pause", again=True),
    "resume": VerbCall("POST", "/v1/queues:resume", again=True),
    "unblock": VerbCall("POST", "/v1/queues:unblock", again=True),
    "limit": _limit,
}
LANES: Final[Verbs] = {
    "pause": VerbCall("POST", "/v1/lanes:pause", again=True),
    "resume": VerbCall("POST", "/v1/lanes:resume", again=True),
    "unblock": VerbCall("POST", "/v1/lanes:unblock", again=True),
    "limit": _limit,
}
EXPLAINER: Final[Verbs] = {
    "explain": VerbCall("GET", "/v1/messages/{id}/explain"),
    "explain_queue": VerbCall("GET", "/v1/queues:explain"),
    "explain_lane": VerbCall("GET", "/v1/lanes:explain"),
}


async def _body(client: RemoteClient, args: Args) -> MessageContent:
    call = VerbCall("GET", "/v1/messages/{id}/body")
    found: ShownBody = await ask(client, call, args, ShownBody)
    return MessageContent(found.headers, found.content())


def _sending_again(client: RemoteClient, args: Args) -> AsyncIterator[SentAgain]:
    return steps(client, VerbCall("POST", "/v1/messages:send-again", shape=_named), args, SentAgain)


async def _send_again(client: RemoteClient, args: Args) -> SentAgain:
    """With a key of its own, where none is given, so that it can be repeated."""
    call = VerbCall("POST", "/v1/messages:send-again", again=True, shape=_named)
    key = args["key"] or f"remote-{secret_bytes(12).hex()}"
    said: SentAgain = await ask(client, call, {**args, "key": key}, SentAgain)
    return said


def _named(args: Args) -> Args:
    ids = args.get("ids")
    named = [ids] if isinstance(ids, str) else ids
    return args if named is None else {**args, "ids": list(named)}


MESSAGES: Final[Verbs] = {
    "list": VerbCall("GET", "/v1/messages"),
    "body": _body,
    "send_again": _send_again,
    "sending_again": _sending_again,
    "settle": VerbCall("POST", "/v1/messages:settle", gives="settled"),
}


async def _show_dead(client: RemoteClient, args: Args) -> DeadLetter:
    found: ShownLetter = await ask(client, VerbCall("GET", "/v1/dead/{id}"), args, ShownLetter)
    return DeadLetter(found.message, found.headers, found.content(), found.tries)


def _replaying(client: RemoteClient, args: Args) -> AsyncIterator[int]:
    return steps(
        client, VerbCall("POST", "/v1/dead:replay", shape=_named, gives="count"), args, int
    )


def _purging(client: RemoteClient, args: Args) -> AsyncIterator[int]:
    return steps(client, VerbCall("POST", "/v1/dead:purge", shape=_named, gives="count"), args, int)


DEAD: Final[Verbs] = {
    "list": VerbCall("GET", "/v1/dead"),
    "show": _show_dead,
    "replay": inherited,
    "replaying": _replaying,
    "purge": inherited,
    "purging": _purging,
}


async def _limits(client: RemoteClient, args: Args) -> list[NamedLimit]:
    everybody = args["tenant"] == EVERY_TENANT
    if everybody:
        args["tenant"] = DEFAULT_TENANT
    found: list[NamedLimit] = await ask(
        client, VerbCall("GET", "/v1/limits"), args, list[NamedLimit]
    )
    return [one for one in found if (one.tenant == EVERY_TENANT) is everybody]


LIMITS: Final[Verbs] = {
    "put": VerbCall("POST", "/v1/limits", again=True, everybody="everywhere"),
    "list": _limits,
    "delete": VerbCall("DELETE", "/v1/limits/{name}", everybody="everywhere"),
}

# What is there


INSPECTION: Final[Verbs] = {
    "queues": VerbCall("GET", "/v1/queues"),
    "lanes": VerbCall("GET", "/v1/lanes"),
    "levels": VerbCall("GET", "/v1/levels"),
    "overview": VerbCall("GET", "/v1/stats"),
}
ROLLUPS: Final[Verbs] = {
    "list": VerbCall("GET", "/v1/rollups", every=True),
    "recent": VerbCall("GET", "/v1/stats"),
}
WORKERS: Final[Verbs] = {"list": VerbCall("GET", "/v1/workers", every=True)}
AUDIT: Final[Verbs] = {"list": VerbCall("GET", "/v1/audit", every=True), "export": inherited}

# Webhooks, mailboxes, tokens, privacy


async def _attempts(client: RemoteClient, args: Args) -> list[Attempt]:
    call = VerbCall("GET", "/v1/messages/{id}/attempts")
    found: list[ShownAttempt] = await ask(client, call, args, list[ShownAttempt])
    return [_attempt(one) for one in found]


def _attempt(one: ShownAttempt) -> Attempt:
    if one.hidden:
        raise Forbidden(one.hidden)
    told = {name: getattr(one, name) for name in AttemptFacts.__struct_fields__}
    request = msgspec.json.encode(one.headers) if one.headers else b""
    return Attempt(**told, request=request, answer=one.answer.encode())


def _hook(args: Args) -> Args:
    times = ("connect_timeout", "timeout", "keep_bodies")
    return args | {name: seconds_of(args[name]) for name in times if name in args}


async def _set_hook(client: RemoteClient, args: Args) -> None:
    """Set a webhook. What is None is said, since that means something here."""
    none: Args = {name: None for name in ("auth", "tls") if name in args and args[name] is None}
    call = VerbCall("PUT", "/v1/webhooks", again=True, shape=lambda given: _hook(given) | none)
    _ = await ask(client, call, args)  # the verb answers nothing


WEBHOOKS: Final[Verbs] = {
    "set": _set_hook,
    "get": VerbCall("GET", "/v1/webhooks"),
    "list": VerbCall("GET", "/v1/webhooks"),
    "delete": VerbCall("DELETE", "/v1/webhooks"),
    "attempts": _attempts,
}


def _new_box(args: Args) -> Args:
    asked = {"quota": args["quota"], "ttl_s": round(seconds_of(args["ttl_s"]))}
    return {name: value for name, value in asked.items() if value}


MAILBOXES: Final[Verbs] = {
    "create": VerbCall("POST", "/v1/mailboxes", shape=_new_box),
    "list": VerbCall("GET", "/v1/mailboxes"),
    "explain": VerbCall("GET", "/v1/mailboxes/{box}"),
    "delete": VerbCall("DELETE", "/v1/mailboxes/{box}"),
    "stats": VerbCall("GET", "/v1/hub", every=True),
}


async def _make_token(client: RemoteClient, args: Args) -> NewToken:
    tenant = args.pop("tenant")
    named = {"tenant": tenant} if client.for_tenant(tenant) else {}  # else it is the token's own
    call = VerbCall("POST", "/v1/tokens", every=True, shape=lambda given: given | named)
    made: NewToken = await ask(client, call, args | {"by": None}, NewToken)
    return made


TOKENS: Final[Verbs] = {
    "make": _make_token,
    "list": VerbCall("GET", "/v1/tokens", every=True),
    "revoke": VerbCall("DELETE", "/v1/tokens/{id}", every=True),
}


async def _portal_link(client: RemoteClient, args: Args) -> NewPortalLink:
    tenant = args.pop("tenant")
    call = VerbCall(
        "POST", "/v1/portal-links", every=True, shape=lambda given: _link(given, tenant)
    )
    made: NewPortalLink = await ask(client, call, args | {"by": None}, NewPortalLink)
    return made


def _link(args: Args, tenant: str) -> Args:
    return {**args, "tenant": tenant, "allow": [*args["allow"]], "origins": [*args["origins"]]}


async def _find_link(client: RemoteClient, args: Args) -> PortalLink | None:
    call = VerbCall("GET", "/v1/portal-links", every=True)
    found: list[PortalLink] = await ask(client, call, {}, list[PortalLink])
    return next((one for one in found if one.id == args["id"]), None)


PORTAL: Final[Verbs] = {
    "link": _portal_link,
    "open": VerbCall("POST", "/v1/portal-sessions", every=True),
    "find": _find_link,
    "list": VerbCall("GET", "/v1/portal-links", every=True),
    "revoke": VerbCall("DELETE", "/v1/portal-links/{id}", every=True),
}


async def _tenant_limits(client: RemoteClient, args: Args) -> TenantFacts:
    """Set limits. What is None is said, since it takes one away."""
    none: Args = {name: None for name, value in args.items() if value is None}
    call = VerbCall(
        "PUT", "/v1/tenants/{name}/limits", again=True, every=True, shape=lambda given: given | none
    )
    said: TenantFacts = await ask(client, call, args, TenantFacts)
    return said


TENANTS: Final[Verbs] = {
    "create": VerbCall("POST", "/v1/tenants", every=True),
    "list": VerbCall("GET", "/v1/tenants", every=True),
    "show": VerbCall("GET", "/v1/tenants/{name}", every=True),
    "limits": _tenant_limits,
    "remove": VerbCall("DELETE", "/v1/tenants/{name}", every=True),
}
SESSIONS: Final[Verbs] = {
    "open": VerbCall("POST", "/v1/sessions", every=True),
    "list": VerbCall("GET", "/v1/sessions", every=True),
    "end": VerbCall("DELETE", "/v1/sessions/{id}", every=True),
}
