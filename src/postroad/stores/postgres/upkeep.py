"""What the janitor does: expiry by deadline and by spell, and retention."""

from typing import Final

import msgspec
from msgspec import Struct, field

from postroad.model.block import BlockKind
from postroad.model.decide import spell_expiry
from postroad.model.entities import Policy
from postroad.model.ids import first_after
from postroad.model.record import Collected, Swept
from postroad.model.rollup import KEPT_MS
from postroad.model.states import NEVER
from postroad.model.unused import ASK_AGAIN_MS, DELETE_MOST, WALK_EVERY_MS, WALK_SLICE
from postroad.stores.postgres.base import decoder
from postroad.stores.postgres.batches import Ending, PostgresBatches


class Spell(Struct, frozen=True):
    """An unbroken spell of quota or silence, of a queue on all its lanes or (not 0) on one."""

    queue: int
    policy: Policy
    kind: BlockKind
    since: int
    lane: int

    @property
    def ttl_ms(self) -> int:
        """How long a message may wait in this spell."""
        away = self.kind is BlockKind.unreachable
        return self.policy.unreachable_ttl_ms if away else self.policy.quota_ttl_ms


class SweptOnce(Ending, frozen=True):
    """What died of its own deadline, when the next one does, and spells to be judged."""

    expired: int = 0
    next: int | None = None
    spells: list[Spell] = field(default_factory=list)


RETAIN_SLICE: Final = 1_000
LOCKED_MS: Final = 1_000
SPELL_RECHECK_MS: Final = 600_000
"""How often a queue is swept while its spell is too old: each message has its own start."""
SWEPT: Final = decoder(SweptOnce)
COLLECTED: Final = msgspec.json.Decoder(Collected)


class PostgresUpkeep(PostgresBatches):
    """Expiry and retention."""

    async def sweep(self, limit: int) -> Swept:
        """Move messages that have expired, or waited too long in a spell, to the dead set."""
        swept = self._read_answer(await self._one(self._side, "sweep", "sweep", limit), SWEPT)
        done, next_at_ms = swept.expired, swept.next or NEVER
        if next_at_ms <= swept.now and done < limit:  # somebody is writing it just now
            next_at_ms = swept.now + LOCKED_MS
        for spell in swept.spells:
            ends_ms = spell.since + spell.ttl_ms
            if ends_ms > swept.now:
                next_at_ms = min(next_at_ms, ends_ms)
                continue
            gone = await self._sweep_spell(spell, swept.now, limit)
            done += gone
            wait_ms = 0 if gone >= limit else SPELL_RECHECK_MS
            next_at_ms = min(next_at_ms, swept.now + wait_ms)
        self.batches_touched(swept.batches)
        self.batches_looked_over()
        return Swept(done, next_at_ms)

    async def _sweep_spell(self, spell: Spell, now_ms: int, limit: int) -> int:
        before_ms = now_ms - spell.ttl_ms
        edge, reason = first_after(before_ms + 1), spell_expiry(spell.kind)
        values = (spell.queue, spell.lane, edge, before_ms, reason, limit)
        text = await self._one(self._side, "sweep", "sweep_spell", *values)
        swept = self._read_answer(text, SWEPT)
        self.batches_touched(swept.batches)
        return swept.expired

    async def retain(self, history_ms: int, dead_ms: int) -> int:
        """Delete finished work older than these."""
        values = (history_ms, dead_ms, RETAIN_SLICE, *KEPT_MS.values())
        return int(await self._one(self._side, "retain", "retain", *values))

    async def collect(self, unused_ms: int) -> Collected:
        """Go on with the walk over queues that nobody uses."""
        values = (unused_ms, WALK_EVERY_MS, ASK_AGAIN_MS, WALK_SLICE, DELETE_MOST)
        return COLLECTED.decode(await self._one(self._side, "retain", "collect", *values))
