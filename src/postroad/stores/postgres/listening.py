"""The connection that listens for notifications: supervised, and asked to prove that it hears."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

from postroad.model.errors import StoreError
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Chance, Clock
from postroad.stores.postgres.bell import FleetBell
from postroad.stores.postgres.connections import (
    BACKOFF_S,
    CONNECT_S,
    QUERIES,
    DatabaseAddress,
    Raw,
    dial,
)
from postroad.stores.postgres.errors import DRIVER_ERRORS

CHANNEL: Final = "postroad"
PROBE_S: Final = 240.0
"""A connection that ends in good order is noticed at once anyway. 15 statements an hour where no
other statement carries the proof."""
CARRY_S: Final = 120.0
"""A statement that is sent later than this after the last proof carries the next probe, so that the
listener need not send one of its own."""
PROBES: Final = 1 << 52


class NotifyListener:
    """Listens for notifications while the store is open; while it cannot, the bell is not alive."""

    def __init__(
        self,
        address: DatabaseAddress,
        bell: FleetBell,
        counts: Counter[str],
        clock: Clock,
        chance: Chance,
        tasks: Tasks,
    ) -> None:
        self._address = address
        self._bell = bell
        self._counts = counts
        self._clock = clock
        self._chance = chance
        self._tasks = tasks
        self._log = tasks.log
        self._own: Callable[[int], bool] = lambda _: False
        self._raw: Raw | None = None
        self._ended = asyncio.Event()
        self._proof = asyncio.Event()
        self._probes = int(chance.random() * PROBES)  # others count on the same channel
        self._proved_s = clock.steady_s()
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    async def start(self, own: Callable[[int], bool]) -> None:
        """Begin to listen. `own` recognises the server processes of this process's connections."""
        self._own = own
        try:
            await self._connect()
        except StoreError as error:
            self._log.warning(
                "notifications cannot be heard: retry levels are polled", error=str(error)
            )
        self._task = self._tasks.start(self._run(), "bell")

    async def close(self) -> None:
        """Stop listening."""
        self._bell.alive = False
        if self._task is not None:
            self._task.cancel()
            # They were cancelled: how they ended is no news.
            _ = await asyncio.gather(self._task, return_exceptions=True)
        if self._raw is not None:
            self._raw.terminate()

    async def _run(self) -> None:
        while True:
            if self._raw is None:
                await self._reconnect()
            elif not await self._still_hears():
                self._lose()

    async def _reconnect(self) -> None:
        wait_s = BACKOFF_S[min(self._failures, len(BACKOFF_S) - 1)]
        await self._clock.sleep(wait_s * (0.5 + self._chance.random()))
        self._failures += 1
        try:
            await self._connect()
        except StoreError as error:
            self._log.debug("notifications are still down", error=str(error))
            return
        self._failures = 0
        self._log.info("notifications work again")
        self._bell.ring_all()

    async def _connect(self) -> None:
        raw = await dial(self._address, direct=True)
        self._ended = asyncio.Event()
        raw.add_termination_listener(lambda _: self._ended.set())
        try:
            self._counts["bell"] += 1
            await raw.add_listener(CHANNEL, self._heard)
        except DRIVER_ERRORS as error:
            raise StoreError(f"cannot listen ({error})") from error
        else:
            self._raw = raw
        finally:
            if self._raw is not raw:  # the store may have been closed meanwhile, too
                raw.terminate()
        self._bell.alive = True
        self._proved_s = self._clock.steady_s()

    def _heard(self, _raw: object, pid: int, _channel: str, payload: object) -> None:
        probe = self._bell.hear(str(payload), own=self._own(pid))
        if probe == self._probes:
            self._proved_s = self._clock.steady_s()
            self._proof.set()

    def probe(self) -> str:
        """The payload to send with the next statement if a proof will soon be needed; else ""."""
        unproved_s = self._clock.steady_s() - self._proved_s
        return self._next_probe() if self._bell.alive and unproved_s > CARRY_S else ""

    def _next_probe(self) -> str:
        self._probes += 1
        self._proof.clear()
        return f'{{"probe": {self._probes}}}'

    async def _still_hears(self) -> bool:
        """Wait for the connection's end, or for the time of the next proof."""
        wait_s = self._proved_s + PROBE_S - self._clock.steady_s()
        if wait_s > 0:
            return not await self._within(self._ended, wait_s)
        raw = self._raw
        if raw is None:  # pragma: no cover - only this task lets go of it
            return False
        self._counts["bell"] += 1
        try:
            await raw.fetchval(QUERIES["notify"], self._next_probe(), timeout=CONNECT_S)
        except DRIVER_ERRORS:
            return False
        return await self._within(self._proof, CONNECT_S)

    async def _within(self, event: asyncio.Event, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
        return True

    def _lose(self) -> None:
        """Give the connection up, and wake pollers that sleep until a ring: they poll now."""
        raw, self._raw = self._raw, None
        self._bell.alive = False
        if raw is not None:
            raw.terminate()
        self._log.warning("notifications are down: retry levels are polled")
        self._bell.ring_all()
