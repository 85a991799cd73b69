"""Endpoints, event types and events."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from postroad.model.endpoint import EndpointRow, MoveState
from postroad.model.entities import LaneKey
from postroad.model.event import KEY_TTL_MS, Publish, Published, drafts_of
from postroad.model.event_types import EventType
from postroad.model.webhook import HookRow
from postroad.ports.bell import LEAVE
from postroad.stores.bell import Ring
from postroad.stores.events import TYPES, EventTables, type_row
from postroad.stores.sqlite import control, inbox, recording
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.joining import SqliteJoining

WANTED_MS: Final = 5_000
"""How long nobody claims a lane that was asked for."""


class SqliteEvents(EventTables, SqliteJoining):
    """Stores endpoints, event types and events."""

    async def endpoint_put(self, row: EndpointRow, hook: HookRow) -> bool:
        """Store an endpoint and the settings of its queue."""
        return await self.write("events", lambda db: _put(db, row, hook), durable=True)

    async def endpoint_move(self, row: EndpointRow, hook: HookRow, lane: LaneKey) -> MoveState:
        """Store an endpoint, and move its queue to this lane."""
        now_ms = self.clock.now_ms()
        move = partial(_move, row=row, hook=hook, key=lane, now_ms=now_ms)
        return await self.write("events", move, durable=True)

    async def endpoint_drop(self, tenant: str, number: int) -> bool:
        """Delete an endpoint and the settings of its queue."""

        def drop(db: Database) -> bool:
            queue = db.number("endpoint_delete", tenant, number)
            db.run("hook_delete", queue)
            db.run("set_raise", tenant)
            return queue is not None

        return await self.write("events", drop, durable=True)

    async def publish_in(self, connection: object, publish: Publish) -> Published:
        """Store an event and its messages as part of the caller's transaction."""
        with self._inside(connection) as (db, caller):
            said = _publish(db, publish)
        caller.rings += db.rings
        return said

    async def event_type_put(self, kinds: Sequence[EventType]) -> None:
        """Store event types."""

        def put(db: Database) -> None:
            db.many("event_type_write", [type_row(kind) for kind in kinds])
            db.run("set_raise", TYPES)

        await self.write("events", put, durable=True)

    async def publish(self, publish: Publish) -> Published:
        """Store an event and its messages."""
        return await self.write("publish", lambda db: _publish(db, publish), durable=True)


def _put(db: Database, row: EndpointRow, hook: HookRow) -> bool:
    inbox.check_queue(db, row.queue)
    values = (row.id, row.tenant, row.queue, row.url, row.spec, row.state, row.reason)
    times = (row.failing_since_ms, row.made_at_ms, row.version, row.expires_at_ms)
    if not db.changed("endpoint_write", *values, *times):
        return False
    db.run("hook_write", hook.queue, hook.hook, hook.key, hook.sealed)
    db.run("set_raise", row.tenant)
    return True


def _move(db: Database, row: EndpointRow, hook: HookRow, key: LaneKey, now_ms: int) -> MoveState:
    if db.number("endpoint_version", row.id) != row.version - 1:
        return MoveState.changed
    ((old,),) = db.all("queue_lanes", row.queue)
    owner, _ = db.one("lane_fence", old) or (None, 0)
    if owner is not None:
        db.run("lane_want", old, now_ms + WANTED_MS)
        db.rings.append(Ring(owner, old, 0, 0, 0, recall=LEAVE))
        return MoveState.owned
    new = inbox.ensure_lane(db, key, 0)
    db.run("numbers_note", row.queue)
    for each in ("queue_lane_move", "rungs_move", "dead_move"):
        db.run(each, row.queue, new)
    if db.number("lane_delete", old) is not None:
        db.run("lane_levels_delete", old)
    else:
        db.run("lane_want", old, 0)
        recording.touch_lane(db, old)
    _ = _put(db, row, hook)  # its version was compared above
    control.unblock_queue(db, row.queue)
    return MoveState.moved


def _publish(db: Database, publish: Publish) -> Published:
    event = publish.event
    versions = (publish.endpoints_version, publish.types_version)
    if versions != tuple(db.number("set_version", name) or 0 for name in (event.tenant, TYPES)):
        return Published(moved=True)
    if publish.key:
        seen = db.one("event_key_find", event.tenant, publish.key, event.made_at_ms)
        if seen is not None:
            return Published(False, *seen)
        use = (event.tenant, publish.key, event.id, publish.digest, event.made_at_ms + KEY_TTL_MS)
        db.run("event_key_insert", *use)
    numbers = (event.first, event.last, event.matched)
    about = (event.id, event.tenant, event.type, event.channels, event.made_at_ms)
    db.run("event_insert", *about, *numbers, event.body)
    _ = inbox.accept(db, drafts_of(publish))  # they have no keys: all are stored
    return Published(False, event.id, event.first, event.matched)
