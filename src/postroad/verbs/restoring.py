"""Detects roads restored from a backup: warns, holds, releases."""

from typing import Final

from postroad.model.errors import BadInput, Conflict
from postroad.model.restoring import Restoration, RestoredReport, RoadHeld
from postroad.model.wording import moment
from postroad.ports.log import Log
from postroad.ports.restoring import Restorable

LIVE_MS: Final = 30_000
"""A process that was heard from within this time may still run."""
REASON_MAX: Final = 500
HELD: Final = (
    "this road is held and sends nothing: {reason}. See `postroad store restored`; `postroad store "
    "release` lets it go"
)


async def check_released(store: object) -> Restoration | None:
    """Refuse to run a road that is held, and tell of which backup it is, if of one."""
    found = await store.restoration() if isinstance(store, Restorable) else None
    if found is not None and found.held_at_ms:
        raise RoadHeld(HELD.format(reason=found.reason))
    return found


async def run_restored(store: object, log: Log) -> None:
    """Before a run: refuse a road that is held; warn once of one that was restored."""
    found = await check_released(store)
    if found is None or not isinstance(store, Restorable):
        return
    log.warning(
        "runs from a backup: what was sent since may be sent again",
        backup=moment(found.backup_at_ms),
    )
    await store.restoration_told()
    _ = await check_released(store)  # nobody has held it since it was asked about


class RestoredRoad:
    """A store that nobody runs, after it was restored."""

    def __init__(self, store: Restorable) -> None:
        self._store = store

    async def report(self, limit: int) -> RestoredReport:
        """Tell what it would send, with the queues that have most of it."""
        now_ms = self._store.clock.now_ms()
        noted = await self._store.restoration() or Restoration(0)
        seen_ms = noted.backup_at_ms or await self._store.restored_seen_at_ms()
        totals = await self._store.restored_totals(now_ms)
        queues = await self._store.restored_queues(now_ms, limit)
        known = noted.backup_at_ms > 0
        return RestoredReport(
            seen_ms, known, now_ms, noted.held_at_ms, noted.reason, totals, queues
        )

    async def hold(self, reason: str = "") -> None:
        """Let nothing of it run until it is released."""
        now_ms = self._store.clock.now_ms()
        if len(reason) > REASON_MAX:
            raise BadInput(f"the reason has {len(reason)} characters: {REASON_MAX} at most")
        if running := await self._store.restored_running(now_ms - LIVE_MS):
            raise Conflict(
                f"{running} processes of this road were at work within the last "
                f"{LIVE_MS // 1000} s: stop them, and hold it then"
            )
        noted = await self._store.restoration() or Restoration(0)
        made_ms = noted.backup_at_ms
        usual = f"restored from a backup of {moment(made_ms)}" if made_ms else "held by hand"
        await self._store.restoration_put(Restoration(made_ms, now_ms, reason or usual))

    async def release(self) -> bool:
        """Let it run; False if it was not held."""
        noted = await self._store.restoration()
        await self._store.restoration_end()
        return noted is not None and noted.held_at_ms > 0
