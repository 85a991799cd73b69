"""The life of endpoints."""

from collections.abc import Sequence

import msgspec

from postroad.model.endpoint import DELETING, EndpointEntry
from postroad.model.endpoint_life import EndpointHour, Turn, Turned
from postroad.model.ids import first_after
from postroad.model.states import NEVER, DeadReason
from postroad.stores.endpoint_life import LABEL, EndpointLifeTables, turn_values
from postroad.stores.sqlite import control, recording
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.events import store_event


class SqliteEndpointLife(EndpointLifeTables, SqliteBase):
    """Stores the life of endpoints."""

    async def endpoint_turn(self, turn: Turn) -> Turned:
        """Change an endpoint's life and its queue, and store the event that tells it."""
        now_ms = self.clock.now_ms()
        return await self.write(LABEL, lambda db: _turn(db, turn, now_ms), durable=True)

    async def endpoint_count(self, hours: Sequence[EndpointHour]) -> None:
        """Add counts to hours, and write where a spell of failures began or ended."""

        def count(db: Database) -> None:
            db.many("endpoint_hour_add", [(one.queue, one.at_ms, *one.counts) for one in hours])
            for one in hours:
                times = (one.failing_since_ms, one.failed_at_ms)
                db.run("endpoint_mark", one.queue, one.succeeded, *times, one.error)

        await self.write(LABEL, count)

    async def endpoints_of(self, queues: Sequence[int]) -> list[EndpointEntry]:
        """Endpoints by their queues."""
        return await self._entries(msgspec.json.encode(queues).decode())

    async def endpoint_trim(self, queue: int, edge_ms: int, most: int, limit: int) -> int:
        """Move what is held for too long, and the oldest of too many, to the dead set."""
        now_ms = self.clock.now_ms()
        return await self.write(LABEL, lambda db: _trim(db, queue, edge_ms, most, limit, now_ms))


def _turn(db: Database, turn: Turn, now_ms: int) -> Turned:
    if db.number("endpoint_version", turn.number) != turn.version:
        return Turned.changed
    if turn.publish is not None and store_event(db, turn.publish).moved:
        return Turned.moved
    db.run("endpoint_turn", turn.number, *turn_values(turn))
    if turn.life.state == DELETING:
        db.run("set_raise_of", turn.number)
    if turn.paused is not None:
        control.pause_queue(db, turn.queue, now_ms, paused=turn.paused)
        if not turn.paused:
            control.unblock_queue(db, turn.queue)
    return Turned.done


def _trim(db: Database, queue: int, edge_ms: int, most: int, limit: int, now_ms: int) -> int:
    old = db.all("endpoint_aged", queue, first_after(edge_ms), limit)
    for (number,) in old:
        recording.die(db, number, DeadReason.expired_held, now_ms)
    over = (db.one("endpoint_backlog", queue) or (0,))[0] - most if most else 0
    excess = db.all("endpoint_aged", queue, NEVER, min(over, limit - len(old))) if over > 0 else []
    for (number,) in excess:
        recording.die(db, number, DeadReason.excess_held, now_ms)
    return len(old) + len(excess)
