"""Access to tables of a room's own in the road's database."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import apsw

if TYPE_CHECKING:
    import asyncpg

    Raw = asyncpg.Connection[asyncpg.Record]
else:
    Raw = object  # the driver comes with the store that needs it
T = TypeVar("T")


@runtime_checkable
class FileTables(Protocol):
    """A SQLite file. Work runs in the one writer's transaction, or in the reader's."""

    async def write_own(
        self, label: str, work: Callable[[apsw.Connection], T], *, durable: bool = True
    ) -> T:
        """Run the work and commit, together with what else waits."""

    async def read_own(self, label: str, work: Callable[[apsw.Connection], T]) -> T:
        """Run the work on a snapshot."""


@runtime_checkable
class HasStateStore(Protocol):
    """A store whose tables are in another one, its state store."""

    @property
    def state(self) -> "FileTables | ServerTables":
        """The store that has the tables."""


class ServerLine(Protocol):
    """One connection to PostgreSQL; work goes one after the other."""

    async def work(self, label: str, work: Callable[[Raw], Awaitable[T]]) -> T:
        """Do it; what fails has a name. It may be done a second time after a deadlock."""


@runtime_checkable
class ServerTables(Protocol):
    """A PostgreSQL database."""

    def own_line(self, name: str) -> ServerLine:
        """A connection for a room's own work, made when it is first needed."""

    def hear_own(self, call: Callable[[], None]) -> None:
        """Call it when a process rings for a room's own work."""

    async def ring_own(self) -> None:
        """Tell every process that there is such work."""
