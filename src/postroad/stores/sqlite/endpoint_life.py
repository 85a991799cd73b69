"""The life of endpoints."""

from collections.abc import Sequence

import msgspec

from postroad.model.endpoint import DELETING, EndpointEntry
from postroad.model.endpoint_life import EndpointHour, Turn, Turned
from postroad.stores.endpoint_life import LABEL, EndpointLifeTables, turn_values
from postroad.stores.sqlite import control, recording
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.events import store_event
from postroad.stores.sqlite.pacing import limit_drain


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

    async def endpoint_bury(self, number: int, messages: Sequence[int], reason: str) -> int:
        """Move messages that are held to the dead set."""
        now_ms, listed = self.clock.now_ms(), msgspec.json.encode(messages).decode()

        def bury(db: Database) -> int:
            held = db.all("endpoint_held", number, listed)
            for (message,) in held:
                recording.die(db, message, reason, now_ms)
            return len(held)

        return await self.write(LABEL, bury)


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
    if turn.drain is not None:
        limit_drain(db, turn.queue, turn.drain, now_ms * 1000)
    return Turned.done
