"""The ground with short ways to say what a sender and a lane's owner do."""

from collections.abc import Sequence
from typing import Final, TypedDict, Unpack

from postroad.model.block import Block, BlockKind
from postroad.model.circuit import Circuit
from postroad.model.decide import Move
from postroad.model.entities import (
    DEFAULT_TENANT,
    Draft,
    Lane,
    LaneKey,
    Message,
    Policy,
    Queue,
    QueueSpec,
    Rung,
    order_group_of,
)
from postroad.model.outcome import Kind
from postroad.model.record import (
    Claim,
    LaneChange,
    Look,
    QueueChange,
    Record,
    Recorded,
    Release,
    Result,
    View,
    Want,
)
from postroad.model.states import NEVER, DeadReason
from tests.contract.ground import Ground
from tests.contract.rigs import Rig

POOL: Final = "web"
LEVELS: Final = range(7)
PLAIN: Final = Policy()

KINDS: Final = {
    Move.deliver: Kind.delivered,
    Move.climb: Kind.failed,
    Move.wait: Kind.later,
    Move.stay: Kind.quota,
    Move.again: Kind.unreachable,
    Move.behind: Kind.unreachable,
    Move.hold: Kind.failed,
    Move.die: Kind.rejected,
    Move.doubt: Kind.unknown,
    Move.cancel: Kind.failed,
}


class How(TypedDict, total=False):
    """How a message is sent; `after_s` and `ttl_s` count from now."""

    after_s: float
    ttl_s: float
    key: str
    order_key: str
    priority: int
    shard: int


class Became(TypedDict, total=False):
    """What became of a message; `after_s` counts from now, `epoch` is the lane's unless given."""

    level: int
    after_s: float
    reason: DeadReason
    error: str
    epoch: int


class Bench(Ground):
    """A store, and everything that a test does to it."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig)
        self._rungs: dict[int, Rung] = {}
        self._epochs: dict[int, int] = {}

    # Getting messages in

    async def queue(
        self,
        name: str = "shop",
        *,
        server: str = "",
        shards: int = 1,
        policy: Policy = PLAIN,
        tenant: str = DEFAULT_TENANT,
        transport: str = POOL,
    ) -> Queue:
        """A queue on the lane of its server; alone on it unless a server is named."""
        lane = LaneKey(transport, server or name, tenant=tenant)
        (queue,) = await self.store.open_queues([QueueSpec(tenant, name, lane, shards, policy)])
        return queue

    async def find(self, queue: Queue) -> Queue:
        found = await self.store.find_queue(queue.tenant, queue.name)
        assert found is not None
        return found

    def draft(self, queue: Queue, body: bytes = b"{}", **how: Unpack[How]) -> Draft:
        order_key = how.get("order_key", "")
        ttl_s = how.get("ttl_s")
        return Draft(
            id=self.ids.next(self.now_ms),
            queue=queue.id,
            lane=queue.lanes[how.get("shard", 0)],
            order_group=order_group_of(queue.policy, order_key),
            priority=how.get("priority", 0),
            accepted_at_ms=self.now_ms,
            due_ms=self.at(how.get("after_s", 0)),
            expires_at_ms=NEVER if ttl_s is None else self.at(ttl_s),
            body=body,
            key=how.get("key", ""),
            order_key=order_key,
        )

    async def send(self, queue: Queue, body: bytes = b"{}", **how: Unpack[How]) -> int:
        (accepted,) = await self.store.accept([self.draft(queue, body, **how)])
        return accepted.id

    # Owning and reading

    async def claim(
        self,
        levels: Sequence[int] = LEVELS,
        *,
        pools: Sequence[str] = (POOL,),
        limit: int = 100,
        owner: int = 0,
        without: Sequence[str] = (),
    ) -> Claim:
        claim = await self.store.claim(owner or self.owner, levels, pools, limit, without)
        self._epochs |= {lane.id: lane.epoch for lane in claim.lanes}
        return claim

    async def take(self) -> Lane:
        """The only lane that is ready."""
        (lane,) = (await self.claim()).lanes
        return lane

    async def view(self, lane: int, after_ms: int = -1) -> View:
        (view,) = await self.store.look([Look(lane, after_ms)])
        self._rungs |= {rung.id: rung for rung in view.rungs}
        return view

    async def due(self, lane: int) -> list[Message]:
        """All messages of the lane that could go now."""
        view = await self.view(lane)
        wants = [Want(rung.id, -1, -1, 1000) for rung in view.rungs]
        readings = await self.store.fetch(wants)
        return [message for reading in readings for message in reading.messages]

    async def only(self, lane: int) -> Message:
        """The one message of the lane that could go now."""
        (message,) = await self.due(lane)
        return message

    # Saying what became of them

    def result(self, message: Message, move: Move, **became: Unpack[Became]) -> Result:
        rung = self._rungs[message.rung]
        default_level = message.level + 1 if move is Move.climb else message.level
        return Result(
            message=message,
            epoch=became.get("epoch", self._epochs[message.lane]),
            kind=KINDS[move],
            move=move,
            level=became.get("level", default_level),
            due_ms=self.at(became.get("after_s", 0)),
            reason=became.get("reason", DeadReason.rejected if move is Move.die else None),
            error=became.get("error", ""),
            status=0,
            started_ms=self.now_ms,
            took_ms=5,
            order_group=rung.order_group,
            priority=rung.priority,
        )

    async def became(
        self, message: Message, move: Move, *, owner: int = 0, **became: Unpack[Became]
    ) -> Recorded:
        """Record one result."""
        result = self.result(message, move, **became)
        return await self.record([result], owner=owner)

    async def record(
        self,
        results: Sequence[Result] = (),
        *,
        queues: Sequence[QueueChange] = (),
        lanes: Sequence[LaneChange] = (),
        owner: int = 0,
    ) -> Recorded:
        record = Record(owner or self.owner, list(results), list(queues), list(lanes))
        return await self.store.record(record)

    async def block(
        self, queue: Queue, lane: Lane, seconds: float, kind: BlockKind = BlockKind.quota
    ) -> Block:
        """The queue takes nothing for so long."""
        block = Block(kind, self.at(seconds), f"{kind} for {seconds} s", 1, self.now_ms)
        await self.record(queues=[QueueChange(queue.id, lane.id, lane.epoch, block)])
        return block

    async def unblock(self, queue: Queue, lane: Lane) -> None:
        await self.record(queues=[QueueChange(queue.id, lane.id, lane.epoch, None)])

    async def circuit(
        self, lane: Lane, circuit: Circuit, crashes: int = 0, early_ms: int = NEVER
    ) -> Recorded:
        change = LaneChange(lane.id, lane.epoch, circuit, crashes, early_ms)
        return await self.record(lanes=[change])

    async def release(self, lane: Lane, owner: int = 0) -> dict[int, int]:
        return await self.store.release(owner or self.owner, [Release(lane.id, lane.epoch)])
