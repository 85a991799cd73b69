"""Batches: messages that are sent together, and what is sent when all have ended."""

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from postroad.api.paging import After, Limit
from postroad.api.reading import decode
from postroad.api.request import Request, Response
from postroad.api.routes.messages import SEND, to_send
from postroad.api.routing import fetch, give
from postroad.engine.drafting import Send
from postroad.model.batch import DEPTH_MAX, BatchStatus, CyclicBatch
from postroad.model.tokens import Scope
from postroad.verbs.batches import Batch, BatchPage, BatchReceipt, chain

MEMBERS_MAX: Final = 10_000
"""Members in one request; programs have no such limit."""
Steps = Annotated[list[Raw], Meta(max_length=MEMBERS_MAX)]


class BatchRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A batch has `members`, which are sent at once, and what follows: `then`, and `on_failure`
    where some were not delivered. A chain has `steps`, one after the other. A member, a step and
    what follows is a message as in `POST /v1/messages`, or a batch or chain of this form."""

    members: Steps | UnsetType = UNSET
    steps: Steps | UnsetType = UNSET
    then: Raw | UnsetType = UNSET
    on_failure: Raw | UnsetType = UNSET
    stops: bool = False
    """Without an `on_failure`, nothing follows a failure."""


class StepKind(Struct, frozen=True):
    """What tells a batch from a message."""

    queue: Raw | UnsetType = UNSET
    members: Raw | UnsetType = UNSET
    steps: Raw | UnsetType = UNSET


KIND: Final = msgspec.json.Decoder(StepKind)
NESTED: Final = msgspec.json.Decoder(BatchRequest)


@give("/v1/batches", scope=Scope.send, status=201, audited=False)
async def batch_put(request: Request, asked: BatchRequest) -> Response[BatchReceipt]:
    """Send a batch or a chain. All of it is stored when this answers."""
    said = await request.road.batches.put(_batch(asked, request.tenant, 0))
    return Response(said, status=201, headers={"location": f"/v1/batches/{said.id}"})


@fetch("/v1/batches", scope=Scope.read)
async def batch_list(request: Request, limit: Limit = 100, after: After = "") -> BatchPage:
    """List batches, the newest first."""
    return await request.road.batches.list(limit=limit, after=after, tenant=request.tenant)


@fetch("/v1/batches/{id}", scope=Scope.read)
async def batch_show(request: Request, id: str) -> BatchStatus:  # noqa: A002
    """Show a batch and its counts."""
    return await request.road.batches.get(id, tenant=request.tenant)


def _batch(asked: BatchRequest, tenant: str, depth: int) -> Batch:
    if depth > DEPTH_MAX:
        raise CyclicBatch(f"batches are nested more than {DEPTH_MAX} deep: send inner ones alone")
    failure = _follower(asked.on_failure, tenant, depth)
    if asked.steps is not UNSET:
        return chain([_step(one, tenant, depth) for one in asked.steps], failure)
    given = [] if asked.members is UNSET else asked.members
    members = [_step(one, tenant, depth) for one in given]
    return Batch(members, _follower(asked.then, tenant, depth), failure, asked.stops)


def _follower(raw: Raw | UnsetType, tenant: str, depth: int) -> Send | Batch | None:
    return None if raw is UNSET else _step(raw, tenant, depth)


def _step(raw: Raw, tenant: str, depth: int) -> Send | Batch:
    kind = decode(bytes(raw), KIND)
    if kind.members is UNSET and kind.steps is UNSET:
        return to_send(decode(bytes(raw), SEND), tenant)
    return _batch(decode(bytes(raw), NESTED), tenant, depth + 1)


ROUTES: Final = (batch_put, batch_list, batch_show)
