"""Claims lanes and reads messages from the tables in memory, and records results."""

import os
import socket
from collections.abc import Sequence

from msgspec.structs import replace

from postroad.model.entities import Lane
from postroad.model.ladder import LAST_POLLED_LEVEL
from postroad.model.record import (
    Claim,
    Look,
    LostWorker,
    Reading,
    Reaped,
    Record,
    Recorded,
    Release,
    View,
    Want,
)
from postroad.ports.store import Levels, Names
from postroad.stores.rabbitmq.workers import RabbitWorkers


class RabbitLeases(RabbitWorkers):
    """The engine's calls. Lanes are owned within this process only."""

    async def join(self) -> int:
        """Get a new owner number."""
        owner = await self.state.join()
        self._owners[owner] = self.clock.now_ms()
        return owner

    async def claim(
        self, owner: int, levels: Levels, pools: Names, limit: int, without: Names = ()
    ) -> Claim:
        """Claim lanes that are ready at these levels. The first claim starts the consumers. A claim
        for all levels that finds nothing waits until a message arrives, or the broker has none."""
        self._check_open()
        await self.serving.start(owner, pools)
        self._owners[owner] = now_ms = self.clock.now_ms()
        await self.tell_heard(owner)
        ask = (levels, pools, limit, without)
        claim = self.delivered.claim(owner, *ask, now_ms)
        if claim.lanes or len(levels) <= LAST_POLLED_LEVEL:
            return claim
        entries, known = self.delivered.messages, len(self.delivered.messages)
        await self.serving.caught_up(lambda: len(entries) > known)
        self._owners[owner] = now_ms = self.clock.now_ms()
        return self.delivered.claim(owner, *ask, now_ms)

    async def look(self, looks: Sequence[Look]) -> list[View]:
        """The rungs of owned lanes that became ready after a time, and the named ones."""
        now_ms = self.clock.now_ms()
        return [self.delivered.look(ask, now_ms) for ask in looks]

    async def fetch(self, wants: Sequence[Want]) -> list[Reading]:
        """The due messages of rungs, in order."""
        now_ms = self.clock.now_ms()
        return [self.delivered.fetch(want, now_ms) for want in wants]

    async def mark(self, owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        """Note that messages are about to start; False when they are not this owner's any more."""
        entries = [self.delivered.messages.get(number) for number in ids]
        held = [entry for entry in entries if entry is not None]
        if not self.delivered.owns(owner, lane.id, lane.epoch) or len(held) < len(ids):
            return False
        pairs = [(entry.message, entry.envelope.priority) for entry in held]
        await self.broker_state.note(pairs, self.clock.now_ms())
        for entry in held:
            entry.message = replace(entry.message, marks=entry.message.marks + 1)
        return True

    async def unmark(self, ids: Sequence[int]) -> None:
        """Take noted starts back: the tries were stopped without a lost lease."""
        await self.broker_state.unnote(ids)
        for number in ids:
            entry = self.delivered.messages.get(number)
            if entry is not None:
                marks = max(0, entry.message.marks - 1)
                entry.message = replace(entry.message, marks=marks)

    async def record(self, record: Record) -> Recorded:
        """Record results in one batch, fenced by lane and epoch."""
        recorded = await self.recorder.record(record)
        if record.queues or record.lanes:
            self.parking.look()
        return recorded

    async def release(self, owner: int, lanes: Sequence[Release]) -> dict[int, int]:
        """Give lanes back; answers when each of their levels is ready next."""
        ready: dict[int, int] = {}
        for lane in lanes:
            if self.delivered.owns(owner, lane.lane, lane.epoch):
                for level, at_ms in self.delivered.free(lane.lane).items():
                    ready[level] = min(ready.get(level, at_ms), at_ms)
        return ready

    async def disown(self, owner: int, keep: Sequence[int]) -> None:
        """Give back all lanes except these."""
        for each in self.delivered.owned_by(owner):
            if each.lane.id not in keep:
                _ = self.delivered.free(each.lane.id)  # it wakes the pollers itself
        if not keep and not self.bell.hears(owner):  # its engine has ended
            await self.serving.stop(owner)

    async def beat(self, owner: int) -> bool:
        """Note a sign of life. Answers False, once, to an owner that had lost its lanes or left."""
        known = owner in self._owners and owner not in self._reaped
        self._owners[owner] = self.clock.now_ms()
        self._reaped.discard(owner)
        await self.tell_heard(owner)
        return known

    async def held(self, owner: int) -> set[tuple[int, int]]:
        """The lanes of an owner, with their epochs."""
        return {(each.lane.id, each.epoch) for each in self.delivered.owned_by(owner)}

    async def reap(self, dead_after_ms: int) -> Reaped:
        """Free the lanes of silent owners of this process. A process that died gave its messages
        back when its connection closed."""
        before_ms = self.clock.now_ms() - dead_after_ms
        lost = []
        for owner in [each for each, at_ms in self._owners.items() if at_ms < before_ms]:
            lanes = self.delivered.owned_by(owner)
            for each in lanes:
                _ = self.delivered.free(each.lane.id, lost=True)  # it wakes the pollers itself
            if lanes:
                self._reaped.add(owner)
                lost.append(LostWorker(socket.gethostname(), os.getpid(), len(lanes)))
        return Reaped(tuple(lost), self.delivered.any_owned)

    async def leave(self, owner: int) -> None:
        """Give everything back and leave."""
        self.bell.leave(owner)
        await self.disown(owner, [])
        self._owners.pop(owner, None)
        await self.state.leave(owner)
