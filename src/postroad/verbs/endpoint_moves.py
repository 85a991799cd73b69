"""How an endpoint is stored, also when its queue moves to the lane of another server."""

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.endpoint import EndpointEntry, EndpointRow, MoveState, endpoint_id
from postroad.model.entities import LaneKey, Policy, Queue
from postroad.model.errors import Conflict
from postroad.model.matching import SPEC
from postroad.model.pace import read_limit
from postroad.model.webhook import Hook, HookRow, HookSecrets
from postroad.ports.store import Store
from postroad.transports.webhook.target import read
from postroad.transports.webhook.transport import WebhookTransport
from postroad.verbs.event_stores import event_store
from postroad.verbs.hook_access import lane_secret
from postroad.verbs.webhooks import credential_of

MOVE_S: Final = 45.0
"""How long a change waits for tries under way: longer than a lease and a try last."""
ASK_S: Final = 0.1


class Edited(Struct, frozen=True):
    """An endpoint as it is to be stored."""

    row: EndpointRow
    hook: Hook
    secrets: HookSecrets
    lane: LaneKey | None = None
    """Where its queue moves to."""
    policy: Policy | None = None
    """What its queue gets once it is stored."""
    rated: bool = False
    """Whether its rate is what its queue is limited to from then on."""


Edit = Callable[[EndpointEntry, Hook, HookSecrets], Awaitable[Edited]]


async def put_endpoint(
    store: Store, row: EndpointRow, packed: HookRow, lane: LaneKey | None
) -> bool:
    """Store an endpoint; if its queue moves to another lane, when that can be. False if somebody
    else has changed it meanwhile."""
    events, clock = event_store(store), store.clock
    if lane is None:
        return await events.endpoint_put(row, packed)
    until_s = clock.steady_s() + MOVE_S
    while (state := await events.endpoint_move(row, packed, lane)) is MoveState.owned:
        if clock.steady_s() >= until_s:
            raise Conflict(
                f"url: the tries of {endpoint_id(row.id)} have not ended within {MOVE_S:g} s, "
                "and what waits moves to another server only then: nothing was changed; do it "
                "again"
            )
        await clock.sleep(ASK_S)
    return state is MoveState.moved


async def give_queue(
    store: Store, edited: Edited, open_queue: Callable[[int, str, str, Policy], Awaitable[Queue]]
) -> None:
    """Give the queue of an endpoint what was stored about it. Before that nothing is changed; none
    of this is refused, and the same change once more does it again."""
    row = edited.row
    if edited.policy is not None:  # the queue keeps its lane
        _ = await open_queue(row.id, row.tenant, row.url, edited.policy)
    if edited.rated:
        rate = SPEC.decode(row.spec).rate
        await store.limit_queue(row.queue, read_limit(rate) if rate else None)


async def other_lane(
    transport: WebhookTransport, row: EndpointRow, url: str, secrets: HookSecrets
) -> LaneKey | None:
    """The lane of a URL, if it is on another server than the present one."""
    rules = transport.rules
    if read(url, rules).server == read(row.url, rules).server:
        return None
    credential = await credential_of(url, lane_secret(secrets))
    return replace(transport.address(url, row.tenant), credential=credential)
