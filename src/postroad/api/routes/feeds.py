"""Feeds: endpoints that are read instead of called. Reading leases, and an ack ends a message, so
both need `manage`; reading shows bodies, so it needs `bodies` too."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from postroad.api.bodies import sees_bodies
from postroad.api.request import Request
from postroad.api.routing import fetch, give
from postroad.model.errors import Forbidden
from postroad.model.texts import Name
from postroad.model.tokens import Scope
from postroad.verbs.endpoint_feed import FeedAck, FeedPage

Most = Annotated[int, Meta(ge=1, le=1_000, description="How many messages at most")]
Wait = Annotated[float, Meta(ge=0, le=40, description="How long to wait for the first, in seconds")]
Lease = Annotated[
    float, Meta(ge=1, le=3_600, description="After how many seconds without an ack they come again")
]


class AckRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Messages that were read from a feed and are done."""

    ids: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=1_000)]


@fetch("/v1/endpoints/{id}/feed", scope=Scope.manage)
async def endpoint_feed(
    request: Request,
    id: str,  # noqa: A002
    max: Most = 100,  # noqa: A002
    wait: Wait = 0,
    lease: Lease = 60,
) -> FeedPage:
    """Read the next messages of an endpoint that was made with `pull`, and wait for the first one,
    in seconds. Those that are not acked within the lease come again."""
    if not sees_bodies(request):
        raise Forbidden("a feed has bodies: your token needs the scope `bodies`")
    if request.method == "HEAD":  # nobody would get what is leased
        return FeedPage()
    verb = request.road.endpoints.feed
    return await verb(id, max=max, wait=wait, lease=lease, tenant=request.tenant)


@give("/v1/endpoints/{id}/ack", scope=Scope.manage, audited=False)
async def endpoint_ack(request: Request, id: str, asked: AckRequest) -> FeedAck:  # noqa: A002
    """Count messages as delivered that were read from a feed."""
    return await request.road.endpoints.ack(id, asked.ids, tenant=request.tenant)


ROUTES: Final = (endpoint_feed, endpoint_ack)
