"""Which request each verb about batches is."""

from typing import Any, Final

from msgspec import Raw

from postroad.engine.drafting import as_send
from postroad.model.batch import DEPTH_MAX, CyclicBatch
from postroad.model.errors import BadInput
from postroad.remote.calls import Args, VerbCall, Verbs, ask, inherited
from postroad.remote.client import RemoteClient
from postroad.remote.sending import line_of
from postroad.verbs.batches import Batch, BatchReceipt, tenant_of


async def _put(client: RemoteClient, args: Args) -> BatchReceipt:
    """Send a batch. It is not asked for twice: the first may have been stored."""
    batch = args["batch"]
    body = _nested(batch, ())
    call = VerbCall("POST", "/v1/batches", shape=lambda _: body)
    tenant = args["tenant"] or tenant_of(batch)
    said: BatchReceipt = await ask(client, call, {"tenant": tenant}, BatchReceipt)
    return said


def _nested(batch: Batch, within: tuple[int, ...]) -> dict[str, Any]:
    if id(batch) in within or len(within) > DEPTH_MAX:
        raise CyclicBatch("a batch contains itself: make another Batch(…) for each place")
    inside = (*within, id(batch))
    told: dict[str, Any] = {"members": [_step(one, inside) for one in batch.members]}
    if batch.stops:
        told["stops"] = True
    for name in ("then", "on_failure"):
        if (step := getattr(batch, name)) is not None:
            told[name] = _step(step, inside)
    return told


def _step(step: object, within: tuple[int, ...]) -> Any:
    if isinstance(step, Batch):
        return _nested(step, within)
    send = as_send(step)
    if send.key is not None:
        raise BadInput("a message of a batch has no key: it is stored once, with its batch")
    return Raw(line_of(send))


BATCHES: Final[Verbs] = {
    "batch": inherited,
    "chain": inherited,
    "put": _put,
    "get": VerbCall("GET", "/v1/batches/{id}"),
    "list": VerbCall("GET", "/v1/batches"),
}
