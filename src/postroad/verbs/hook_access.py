"""What webhooks and endpoints are authorized with: checked before it is stored, and shown without
secrets."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, TypedDict, cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.access import (
    AUTHORIZATION,
    Auth,
    BasicAuth,
    ClientTls,
    OAuthClient,
    authorization,
    check_lengths,
)
from postroad.model.block import BlockKind
from postroad.model.entities import Queue
from postroad.model.errors import BadInput
from postroad.model.webhook import Hook, HookSecrets, Shape
from postroad.ports.store import Store
from postroad.transports.webhook.requests import check_header
from postroad.transports.webhook.transforms import check_name
from postroad.transports.webhook.transport import WebhookTransport


class AccessOptions(TypedDict, total=False):
    """How requests are authorized and connections made; None is as for everybody."""

    auth: Auth | None
    """A user and password, a token, or a client of an OAuth 2 server."""
    tls: ClientTls | None
    """A client certificate with its key, and authorities to trust instead of the system's."""
    shape: Shape
    """What a request looks like: `plain` is the body alone."""
    transform: str
    """The name of a function that `road.transform` registered; "" is none."""


class AccessFacts(Struct, frozen=True, kw_only=True):
    """How a webhook is authorized, without the secrets."""

    auth: str = ""
    """`basic`, `bearer` or `oauth`."""
    certificate_ends_at_ms: int | None = None
    """When its client certificate expires."""
    own_ca: bool = False
    """Whether its server's certificate is checked against authorities that were set."""
    shape: Shape = "plain"
    transform: str = ""


ACCESS_NAMES: Final = ("auth", "tls", "shape", "transform")


def access_options(options: Mapping[str, Any]) -> AccessOptions:
    """Return the options that are about access."""
    given = {name: value for name, value in options.items() if name in ACCESS_NAMES}
    return cast(AccessOptions, given)


def _ends_at_ms(tls: ClientTls) -> int | None:
    from postroad.transports.webhook.client_tls import ends_at_ms  # loads much

    return ends_at_ms(tls)


def access_facts(hook: Hook, secret: HookSecrets) -> dict[str, Any]:
    """Show what is set, without the secrets."""
    auth, tls = secret.auth, secret.tls
    return {
        "auth": str(auth.__struct_config__.tag) if auth else "",
        "certificate_ends_at_ms": _ends_at_ms(tls) if tls else None,
        "own_ca": bool(tls and tls.ca),
        "shape": hook.shape,
        "transform": hook.transform,
    }


def changed_shape(hook: Hook, options: AccessOptions) -> Hook:
    """Return the settings with the shape and the transformation that the options name."""
    shape = options.get("shape", hook.shape)
    if shape not in get_args(Shape):
        raise BadInput(f"shape: give one of {', '.join(get_args(Shape))}")
    transform = options.get("transform", hook.transform)
    if transform:
        check_name(transform)
    return replace(hook, shape=shape, transform=transform)


def changed_access(secret: HookSecrets, options: AccessOptions) -> HookSecrets:
    """Return the secrets with what the options change."""
    if "auth" in options:
        secret = replace(secret, auth=options["auth"])
    if "tls" in options:
        secret = replace(secret, tls=options["tls"])
    if secret.auth is not None and AUTHORIZATION in secret.headers:
        raise BadInput("auth and the header authorization are both set: give one of them")
    return secret


async def check_access(
    transport: WebhookTransport, tenant: str, options: AccessOptions, now_ms: int
) -> None:
    """Raise BadInput if what is given cannot authorize anything: a certificate without its key, or
    a client that its token server refuses."""
    auth, tls = options.get("auth"), options.get("tls")
    for given in (auth, tls):
        if given is not None:
            check_lengths(given)
    if tls is not None:
        from postroad.transports.webhook.client_tls import check_tls  # loads much

        await asyncio.to_thread(check_tls, tls, now_ms)
    if isinstance(auth, OAuthClient):
        await transport.tokens.check(tenant, auth)
    elif auth is not None:
        if isinstance(auth, BasicAuth) and ":" in auth.user:
            raise BadInput("auth: a user with a colon cannot be told from its password")
        check_header(AUTHORIZATION, authorization(auth))


def check_tls_is_used(url: str, secret: HookSecrets) -> None:
    """Refuse certificates for connections that have none."""
    if secret.tls is not None and url.startswith("http://"):
        raise BadInput("tls: there are no certificates at http://: give an https:// URL, or no tls")


def lane_secret(secret: HookSecrets) -> str:
    """Return what tells the lanes of one server apart: whom its requests come from."""
    auth, tls = secret.auth, secret.tls
    parts = [secret.headers.get(AUTHORIZATION, "")]
    if isinstance(auth, OAuthClient):
        parts += [auth.token_url, auth.client_id, auth.client_secret, auth.scope]
    elif auth is not None:
        parts.append(authorization(auth))
    if tls is not None:
        parts += [tls.certificate, tls.ca]
    return "\0".join(filter(None, parts))


async def lift(store: Store, queue: Queue | None, options: AccessOptions) -> None:
    """Lift a block that came from what is changed here, or a quota, which may have."""
    block = queue.block if queue else None
    if (
        queue
        and block
        and options
        and block.kind in (BlockKind.setup, BlockKind.quota, BlockKind.rule)
    ):
        await store.unblock_queue(queue.id)
