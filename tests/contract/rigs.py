"""The stores under test. One that joins them adds its rig to RIGS, and every test runs on it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

from postroad.ports.store import Store
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import Drive, ThreadDrive
from tests.contract.clock import ManualClock

Rows = list[tuple[Any, ...]]


class Rig(Protocol):
    """What differs between stores: how time is moved, what is behind the doors, a restart."""

    @property
    def store(self) -> Store: ...

    @property
    def now_ms(self) -> int:
        """The store's time."""

    async def advance(self, seconds: float) -> None:
        """Let time pass."""

    async def open(self) -> None:
        """A store without anything in it."""

    async def reopen(self) -> None:
        """The process ends in good order and another one opens the same data."""

    async def rows(self, sql: str) -> Rows:
        """What no verb of the store tells: SQL that every database understands."""

    async def close(self) -> None: ...


class SqliteRig:
    """A file of its own; the clock is set by hand."""

    def __init__(self, folder: Path, drive: Callable[[], Drive]) -> None:
        self.path = folder / "road.db"
        self._clock = ManualClock()
        self._drive = drive
        self.store = SqliteStore(self.path, self._clock, drive=drive)

    @property
    def now_ms(self) -> int:
        return self._clock.now_ms()

    async def advance(self, seconds: float) -> None:
        self._clock.advance(seconds)

    async def open(self) -> None:
        await self.store.open()

    async def reopen(self) -> None:
        await self.store.close()
        self.store = SqliteStore(self.path, self._clock, drive=self._drive)
        await self.store.open()

    async def rows(self, sql: str) -> Rows:
        return await self.store.read("test", lambda db: db.connection.execute(sql).fetchall())

    async def close(self) -> None:
        await self.store.close()


RIGS: Final[dict[str, Callable[[Path], Rig]]] = {
    "sqlite": lambda folder: SqliteRig(folder, ThreadDrive),
}
"""Without a server. The inline drive of simulated time differs in the writer alone, which
test_sqlite_writer.py has on both."""
