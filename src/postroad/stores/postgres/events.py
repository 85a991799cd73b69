"""Endpoints, event types and events."""

from collections.abc import Sequence
from typing import Final

from postroad.model.endpoint import EndpointRow, MoveState
from postroad.model.entities import LaneKey
from postroad.model.event import EventArrival, Publish, Published
from postroad.model.event_types import EventType
from postroad.model.webhook import HookRow
from postroad.stores.events import EventTables, type_row
from postroad.stores.postgres.base import PostgresBase, StoreAnswer, decoder, literal
from postroad.stores.postgres.callers import CallerStatement
from postroad.stores.statements import Value


class PublishAnswer(StoreAnswer, frozen=True):
    """What became of a publish. `digest`: of the first use of its key, when this is not it."""

    moved: bool = False
    busy: bool = False
    id: int = 0
    first: int = 0
    matched: int = 0
    digest: str = ""


class MoveAnswer(StoreAnswer, frozen=True):
    """What became of a move."""

    state: MoveState = MoveState.changed


ANSWER: Final = decoder(PublishAnswer)
MOVED: Final = decoder(MoveAnswer)
ARRIVE: Final = CallerStatement(
    "event_arrive",
    ("bigint", "text", "text", "bytea", "bytea", "bigint", "text", "bytea", "bytea"),
)


class PostgresEvents(EventTables, PostgresBase):
    """Stores endpoints, event types and events."""

    async def endpoint_put(self, row: EndpointRow, hook: HookRow) -> bool:
        """Store an endpoint and the settings of its queue."""
        ((done,),) = await self.select("events", "endpoint_put", *_values(row, hook))
        return bool(done)

    async def endpoint_move(self, row: EndpointRow, hook: HookRow, lane: LaneKey) -> MoveState:
        """Store an endpoint, and move its queue to this lane."""
        to = (lane.server, lane.credential)
        text = await self._one(self._side, "events", "endpoint_move", *_values(row, hook), *to)
        return self._read_answer(text, MOVED).state

    async def endpoint_drop(self, tenant: str, number: int) -> bool:
        """Delete an endpoint and the settings of its queue."""
        ((done,),) = await self.select("events", "endpoint_drop", tenant, number)
        return bool(done)

    async def event_type_put(self, kinds: Sequence[EventType]) -> None:
        """Store event types."""
        columns = zip(*[type_row(kind) for kind in kinds], strict=True)
        # The function answers nothing.
        _ = await self._one(self._side, "events", "event_type_put", *map(list, columns))

    async def publish(self, publish: Publish) -> Published:
        """Store an event and its messages."""
        values = _publish_values(publish)
        text = await self._one(self._accept, "publish", "publish", *values)
        return _published(publish, self._read_answer(text, ANSWER))

    async def publish_in(self, connection: object, publish: Publish) -> None:
        """Store an event if the caller's transaction commits; it is matched after that."""
        self._check_open()
        event = publish.event
        about = (event.id, event.tenant, event.type, event.body, event.channels, event.made_at_ms)
        values = (*about, publish.key, publish.digest, publish.headers)
        _ = await ARRIVE.run(connection, values)  # it is always stored

    async def event_arrivals(self, limit: int) -> list[EventArrival]:
        """The oldest events that arrived in callers' transactions."""
        return [EventArrival(*row) for row in await self.select("events", "event_arrivals", limit)]

    async def publish_arrival(self, number: int, publish: Publish) -> Published | None:
        """Publish one of them."""
        values = (number, *_publish_values(publish))
        text = await self._one(self._accept, "publish", "publish_arrival", *values)
        said = self._read_answer(text, ANSWER)
        return None if said.busy else _published(publish, said)


def _publish_values(publish: Publish) -> tuple[Value, ...]:
    event, to = publish.event, publish.targets
    about = (event.id, event.tenant, event.type, event.body, event.channels, event.made_at_ms)
    numbers = (event.first, event.last, event.matched)
    versions = (publish.endpoints_version, publish.types_version)
    lanes, queues = literal(each.lane for each in to), literal(each.queue for each in to)
    order_groups = literal(each.order_group for each in to)
    key = (publish.key, publish.digest, lanes, queues, order_groups, publish.headers)
    return (*about, *numbers, *versions, *key)


def _published(publish: Publish, said: PublishAnswer) -> Published:
    if said.moved or said.digest:
        digest = bytes.fromhex(said.digest)
        return Published(said.moved, said.id, said.first, said.matched, digest)
    event = publish.event
    return Published(False, event.id, event.first, event.matched)


def _values(row: EndpointRow, hook: HookRow) -> tuple[Value, ...]:
    values = (row.id, row.tenant, row.queue, row.url, row.spec, row.state, row.reason)
    times = (row.failing_since_ms, row.made_at_ms, row.version, row.expires_at_ms)
    return (*values, *times, hook.hook, hook.key, hook.sealed)
