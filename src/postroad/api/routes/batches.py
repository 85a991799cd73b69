"""Batches: messages that are sent together, and what is sent when all have ended."""

from contextlib import nullcontext
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.structs import replace

from postroad.api.paging import After, Limit
from postroad.api.problems import BadRequest
from postroad.api.reading import decode
from postroad.api.request import Request, Response
from postroad.api.routes.messages import SEND, WAIT_S, to_send
from postroad.api.routing import drop, fetch, give
from postroad.engine.drafting import Send
from postroad.model.batch import DEPTH_MAX, NESTED_MAX, BatchStatus, CyclicBatch
from postroad.model.errors import BadInput
from postroad.model.tokens import Scope
from postroad.verbs.batch_planning import Batch, chain
from postroad.verbs.batches import BatchPage, BatchReceipt

MEMBERS_MAX: Final = 10_000
"""Messages in one request; programs have no such limit."""
NESTED_BYTES_MAX: Final = 64 << 20
"""Bytes of all nested batches, each with what is in it: each level reads them once more."""
T = TypeVar("T")
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
    here, tenant = request.context, request.tenant
    reader = BatchReader(tenant)
    work = here.road.batches.put(reader.batch(asked, 0), tenant=tenant)
    said = await here.admission.store(tenant, reader.messages, work)
    here.meter.accepted(len(said.messages))
    return Response(said, status=201, headers={"location": f"/v1/batches/{said.id}"})


@fetch("/v1/batches", scope=Scope.read)
async def batch_list(request: Request, limit: Limit = 100, after: After = "") -> BatchPage:
    """List batches, the newest first."""
    return await request.road.batches.list(limit=limit, after=after, tenant=request.tenant)


@fetch("/v1/batches/{id}", scope=Scope.read)
async def batch_show(request: Request, id: str) -> BatchStatus:  # noqa: A002
    """Show a batch and its counts."""
    return await request.road.batches.get(id, tenant=request.tenant)


@fetch("/v1/batches/{id}/end", scope=Scope.read)
async def batch_wait(
    request: Request,
    id: str,  # noqa: A002
    wait_s: Annotated[float, Meta(ge=0, le=40)] = 0.0,
) -> BatchStatus:
    """Wait until a batch has ended, with the batches that follow it, at most so long. The last of
    them is shown."""
    with request.context.waits.one(request.tenant) if wait_s else nullcontext():
        return await request.road.batches.wait(id, timeout=wait_s, tenant=request.tenant)


@drop("/v1/batches/{id}", scope=Scope.manage)
async def batch_cancel(
    request: Request,
    id: str,  # noqa: A002
    wait_s: Annotated[float, Meta(ge=0, le=40)] = WAIT_S,
    *,
    running: bool = False,
) -> BatchStatus:
    """Cancel the members of a batch that have not ended; with `running`, stop those that run. Its
    `on_failure` is sent then, and its `then` is not."""
    road, tenant = request.road, request.tenant
    return await road.batches.cancel(id, running=running, wait=wait_s, tenant=tenant)


class BatchReader:
    """Reads a batch with those nested in it, and counts their messages. What is too much for one
    turn of the loop is refused."""

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant
        self.messages = self._nested = self._nested_bytes = 0

    def batch(self, asked: BatchRequest, depth: int, at: str = "") -> Batch:
        """The batch that is asked for; `at` names its place in the request."""
        if depth > DEPTH_MAX:
            raise CyclicBatch(
                f"batches are nested more than {DEPTH_MAX} deep: send inner ones alone"
            )
        failure = self._follower(asked.on_failure, depth, f"{at}on_failure")
        if asked.steps is not UNSET:
            return chain(self._steps(asked.steps, depth, f"{at}steps"), failure)
        given = [] if asked.members is UNSET else asked.members
        members = self._steps(given, depth, f"{at}members")
        then = self._follower(asked.then, depth, f"{at}then")
        return Batch(members, then, failure, asked.stops)

    def _follower(self, raw: Raw | UnsetType, depth: int, at: str) -> Send | Batch | None:
        return None if raw is UNSET else self._step(raw, depth, at)

    def _steps(self, given: list[Raw], depth: int, at: str) -> list[Send | Batch]:
        return [self._step(one, depth, f"{at}[{number}]") for number, one in enumerate(given)]

    def _step(self, raw: Raw, depth: int, at: str) -> Send | Batch:
        text = bytes(raw)
        kind = _decode(text, KIND, at)
        if kind.members is UNSET and kind.steps is UNSET:
            self.messages += 1
            _check(self.messages, MEMBERS_MAX, "messages")
            return to_send(_decode(text, SEND, at), self._tenant)
        self._nested += 1
        self._nested_bytes += len(text)
        _check(self._nested, NESTED_MAX, "nested batches")
        _check(self._nested_bytes, NESTED_BYTES_MAX, "bytes of nested batches")
        return self.batch(_decode(text, NESTED, at), depth + 1, f"{at}.")


def _decode(text: bytes, decoder: "msgspec.json.Decoder[T]", at: str) -> T:
    """Decode a member or a step; an error names its place in the request."""
    try:
        return decode(text, decoder)
    except BadRequest as error:
        fields = (replace(one, field=f"{at}.{one.field}".rstrip(".")) for one in error.fields)
        inside = bool(error.fields and error.fields[0].field)
        raise BadRequest(f"{at}{'.' if inside else ': '}{error}", tuple(fields)) from None


def _check(count: int, most: int, what: str) -> None:
    if count > most:
        raise BadInput(f"more than {most} {what} in one request: send several")


ROUTES: Final = (batch_put, batch_list, batch_show, batch_wait, batch_cancel)
