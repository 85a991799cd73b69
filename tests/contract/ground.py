"""What every contract test stands on: an open store, time to move, and what is behind its doors."""

from typing import Final, Self

from postroad.model.ids import IdSequence
from postroad.ports.store import Store
from tests.contract.heard import Heard
from tests.contract.rigs import Rig, Rows

LEASE_MS: Final = 30_000


class Ground:
    """One store under test. `owner` is the process that the test speaks as."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self.owner = 0
        self.ids = IdSequence(1)

    async def __aenter__(self) -> Self:
        await self._rig.open()
        self.owner = await self.store.join()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._rig.close()

    @property
    def store(self) -> Store:
        return self._rig.store

    @property
    def now_ms(self) -> int:
        return self._rig.now_ms

    def at(self, after_s: float) -> int:
        """The time so many seconds from now."""
        return self.now_ms + round(after_s * 1000)

    async def advance(self, seconds: float) -> None:
        await self._rig.advance(seconds)

    async def reopen(self) -> None:
        """A restart; the owner before it has left no word. The test speaks as a new one."""
        await self._rig.reopen()
        await self.advance(2 * LEASE_MS / 1000)
        while (await self.store.reap(LEASE_MS)).wishes:
            pass
        self.owner = await self.store.join()

    async def rows(self, sql: str) -> Rows:
        return await self._rig.rows(sql)

    def listen(self, owner: int = 0) -> Heard:
        """Hear what the bell tells an owner; the present one unless another is named."""
        heard = Heard()
        self.store.bell.listen(owner or self.owner, heard)
        return heard

    async def vanish(self) -> int:
        """The owner falls silent and is declared dead; the test goes on as a new one."""
        old = self.owner
        await self.advance(LEASE_MS / 1000 + 1)
        while (await self.store.reap(LEASE_MS)).wishes:
            pass
        self.owner = await self.store.join()
        return old

    async def counts(self) -> dict[str, int]:
        """Messages by state, without the empty states."""
        return {state: n for state, n in (await self.store.counts()).items() if n}

    async def dead(self) -> dict[int, str]:
        return dict(await self.rows("select id, reason from dead"))

    async def delivered(self) -> dict[int, bool]:
        """Delivered messages, and whether each was late."""
        found = await self.rows("select id, late from history where state = 'delivered'")
        return {number: bool(late) for number, late in found}
