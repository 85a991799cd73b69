"""Who receives in a worker process: handlers, and boxes on servers. All tell the ledger."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

import msgspec

from postroad import Postroad
from postroad.model.entities import HANDLER_SHARDS, LaneKey, Message, Policy, Queue, shard_of
from postroad.model.ids import to_number, to_text
from postroad.model.outcome import DELIVERED, Outcome, failed, unknown
from postroad.transports.handler import Job
from tests.crash.book import now_ms
from tests.crash.engine_process import Teller
from tests.crash.orders import LADDER, Parcel
from tests.fleet.words import Line

Tell = Callable[[Line], "Future[None]"]
HANDLERS = ("quick", "keys", "flaky")


class Desk:
    """One try: told at its start and at its end, which may be a cut."""

    def __init__(self, teller: Teller, worker: str) -> None:
        self._teller = teller
        self._worker = worker

    def tell(self, line: Line) -> "Future[None]":
        """In the worker's name."""
        return self._teller.tell(msgspec.structs.replace(line, worker=self._worker))

    async def take(self, parcel: Parcel, number: str, attempt: int, lane: str) -> bool:
        """What the parcel asks for; answers whether it is to succeed."""
        start = Line("start", number, parcel.tag, attempt, now_ms(), lane=lane)
        end = Line("done", number, parcel.tag, attempt, lane=lane)
        fails = attempt <= parcel.fails
        try:
            await asyncio.wrap_future(self.tell(start))
            await asyncio.sleep(parcel.wait_ms / 1000)
        except asyncio.CancelledError:
            # Waited for: the lane may have another owner when this process goes on.
            self.tell(msgspec.structs.replace(end, note="cut")).result(5)
            raise
        note = "failed" if fails else "ok"
        await asyncio.wrap_future(self.tell(msgspec.structs.replace(end, note=note)))
        return not fails


def register(road: Postroad, desk: Desk | None) -> None:
    """The handlers of every process of the fleet; without a desk only their queues are known."""

    async def take(job: Job) -> None:
        if desk is None:
            raise RuntimeError("a sender receives nothing")
        parcel = msgspec.convert(job.body, Parcel)
        key = "" if parcel.key == "-" else parcel.key
        shard = shard_of(Policy(), HANDLER_SHARDS, key, to_number(job.id))
        if not await desk.take(parcel, job.id, job.attempt, f"{parcel.queue}#{shard}"):
            raise RuntimeError("this one fails")

    road.handler("quick")(take)
    road.handler("keys", ladder=LADDER, on_exhausted="skip")(take)
    road.handler("flaky", ladder=LADDER)(take)


class Boxes:
    """A transport with one lane a server."""

    name = "box"
    shards = 1

    def __init__(self, desk: Desk | None) -> None:
        self._desk = desk

    def address(self, queue: str, tenant: str) -> LaneKey:
        """The server's lane."""
        return LaneKey(self.name, queue.split("/")[2], tenant=tenant)

    def policy(self, _queue: str, /) -> Policy:
        """As the flaky handler's."""
        return Policy(ladder=LADDER)

    def pools(self) -> list[str]:
        """All servers, where somebody receives."""
        return [self.name] if self._desk else []

    def concurrency(self, _pool: str, /) -> int:
        """No limit of its own."""
        return 0

    async def open(self, _lane: LaneKey, /) -> "Boxes":
        """Needs no connection."""
        return self

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """Into the box."""
        if self._desk is None:
            return failed("a sender receives nothing")
        parcel = msgspec.json.decode(message.body, type=Parcel)
        server = queue.name.split("/")[2]
        number = to_text(message.id)
        good = await self._desk.take(parcel, number, message.attempts + 1, f"box#{server}")
        return DELIVERED if good else failed("this one fails")

    def overdue(self, seconds: float) -> Outcome:
        """Perhaps it was taken."""
        return unknown(f"no answer in {seconds} s")

    async def close(self) -> None:
        """Nothing to give back."""
