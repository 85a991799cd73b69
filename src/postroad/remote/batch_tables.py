"""Which request each verb about batches is."""

from typing import Any, Final

from msgspec import Raw

from postroad.engine.drafting import as_send
from postroad.model.batch import DEPTH_MAX, BatchStatus, CyclicBatch
from postroad.model.errors import BadInput
from postroad.remote.calls import Args, VerbCall, Verbs, ask, inherited
from postroad.remote.client import RemoteClient
from postroad.remote.job_tables import ask_until
from postroad.remote.sending import line_of
from postroad.verbs.batch_planning import Batch, tenant_of
from postroad.verbs.batches import BatchReceipt


async def _put(client: RemoteClient, args: Args) -> BatchReceipt:
    """Send a batch. It is not asked for twice: the first may have been stored."""
    batch = args["batch"]
    body = _nested(batch, ())
    call = VerbCall("POST", "/v1/batches", shape=lambda _: body)
    tenant = args["tenant"] or tenant_of(batch)
    said: BatchReceipt = await ask(client, call, {"tenant": tenant}, BatchReceipt)
    return said


async def _wait(client: RemoteClient, args: Args) -> BatchStatus:
    """Wait for a batch, by one request after the other."""
    call = VerbCall("GET", "/v1/batches/{id}/end", again=True)
    return await _until_over(client, call, args, args.pop("timeout"))


async def _cancel(client: RemoteClient, args: Args) -> BatchStatus:
    """Cancel a batch. A wait of more than one request may have is made of several."""
    call = VerbCall("DELETE", "/v1/batches/{id}", again=True)
    return await _until_over(client, call, args, args.pop("wait"))


async def _until_over(client: RemoteClient, call: VerbCall, args: Args, within: Any) -> BatchStatus:
    return await ask_until(client, call, args, within, BatchStatus, lambda found: found.over)


def _nested(batch: Batch, within: tuple[int, ...]) -> dict[str, Any]:
    if id(batch) in within or len(within) > DEPTH_MAX:
        raise CyclicBatch("a batch contains itself: make another Batch(…) for each place")
    inside = (*within, id(batch))
    if (steps := _steps(batch)) is not None:
        told: dict[str, Any] = {"steps": [_step(one, inside) for one in steps]}
        if batch.on_failure is not None:
            told["on_failure"] = _step(batch.on_failure, inside)
        return told
    told = {"members": [_step(one, inside) for one in batch.members]}
    if batch.stops:
        told["stops"] = True
    for name in ("then", "on_failure"):
        if (step := getattr(batch, name)) is not None:
            told[name] = _step(step, inside)
    return told


def _steps(batch: Batch) -> list[object] | None:
    """The steps of a chain, whose batches share what follows a failure: it is sent once."""
    steps: list[object] = []
    at: object = batch
    while isinstance(at, Batch) and at.stops and len(at.members) == 1:
        if at.on_failure is not batch.on_failure or len(steps) >= DEPTH_MAX:
            return None
        steps += at.members
        if at.then is None:
            return steps
        at = at.then
    return None


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
    "wait": _wait,
    "cancel": _cancel,
}
