"""Connections for callers' own tables, and sending inside a caller's transaction."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

import apsw

from postroad.model.blobs import BlobUse
from postroad.model.entities import Accepted, Draft, Queue, QueueSpec
from postroad.model.errors import BadInput, NotOpen, StoreUnavailable
from postroad.model.states import NEVER
from postroad.ports.clock import Clock
from postroad.stores.bell import Ring
from postroad.stores.blobs import listed, use_pairs
from postroad.stores.sqlite import inbox
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database, named_errors
from postroad.stores.sqlite.writer import Drive, ThreadDrive

CLOSED: Final = "the road is not open: use it inside `async with road:`"
STDLIB: Final = (
    "a connection of Python's sqlite3 module cannot be used: it brings a second SQLite into this "
    "process, and the two do not see each other's locks. Closing it throws away the road's locks "
    "and its log, and a committed message was seen to vanish. Take one from road.connection()"
)


class CallerConnection:
    """A connection that was given to a caller, and the wake-ups to send after its next commit."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, after: Callable[[list[Ring], int, int], None]
    ) -> None:
        self._loop = loop
        self._after = after
        self.rings: list[Ring] = []
        self.expires_ms = NEVER

    def committed(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        """SQLite calls it in the caller's thread after a commit."""
        rings, expires_ms = self.rings, self.expires_ms
        self.rolled_back()
        with suppress(RuntimeError):  # the road is gone: the next one finds what was sent
            self._loop.call_soon_threadsafe(self._after, rings, expires_ms, pages)
        return apsw.SQLITE_OK

    def rolled_back(self) -> None:
        """Forget the wake-ups: nothing was sent."""
        self.rings, self.expires_ms = [], NEVER


class SqliteJoining(SqliteBase):
    """The caller's transactions on the road's file."""

    def __init__(self, path: Path, clock: Clock, drive: Callable[[], Drive] = ThreadDrive) -> None:
        super().__init__(path, clock, drive)
        self._callers: WeakKeyDictionary[apsw.Connection, CallerConnection] = WeakKeyDictionary()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self) -> None:
        """Own the file. Any thread may ask for a connection; its wake-ups go through this loop."""
        self._loop = asyncio.get_running_loop()
        await super().open()

    def connection(self) -> apsw.Connection:
        """Open a connection to the road's file for the caller's own tables. Commits reach the disk;
        while a transaction is open nobody else can write, the road included."""
        if self._writer is None or self._loop is None:
            raise NotOpen(CLOSED)
        connection = Database(self.path).connection
        # The writer is the only checkpointer, also when this is the last to close.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        caller = self._callers[connection] = CallerConnection(self._loop, self._joined)
        connection.set_wal_hook(caller.committed)
        connection.set_rollback_hook(caller.rolled_back)
        return connection

    async def queue_in(self, connection: object, spec: QueueSpec) -> Queue:
        """The queue of that name as this transaction sees it, made when it is new."""
        with self._inside(connection) as (db, _caller):
            return inbox.open_queue(db, spec)

    async def hold_in(
        self, connection: object, tenant: str, uses: Sequence[BlobUse], now_ms: int
    ) -> bool:
        """Note which contents messages of this transaction use."""
        pairs = use_pairs(uses)
        with self._inside(connection) as (db, _caller):
            db.run("blob_touch", tenant, listed([blob for blob, _ in pairs]), now_ms)
            return db.changed("blob_use", tenant, listed(pairs), now_ms) == len(pairs)

    async def send_in(self, connection: object, drafts: Sequence[Draft]) -> list[Accepted]:
        """Store messages as part of the caller's transaction."""
        with self._inside(connection) as (db, caller):
            answers = inbox.accept(db, drafts)
        caller.rings += db.rings
        caller.expires_ms = min([caller.expires_ms, *(draft.expires_at_ms for draft in drafts)])
        return answers

    @contextmanager
    def _inside(self, connection: object) -> Iterator[tuple[Database, CallerConnection]]:
        """Run inside the caller's transaction; an error leaves it as it was."""
        if self._writer is None:
            raise NotOpen(CLOSED)
        own = _ours(connection)
        caller = self._callers.get(own)
        if caller is None:
            raise BadInput(
                "this connection is not one of the road's: take one from road.connection()"
            )
        if not own.in_transaction:
            raise BadInput(
                "send_in belongs to a transaction, and none is open: begin one with "
                "connection.execute('begin immediate'), or use send"
            )
        try:
            with own:
                yield Database(self.path, connection=own), caller
        except apsw.BusyError as error:
            raise StoreUnavailable(
                f"{self.path} was written since this transaction began to read: roll it back, and "
                f"start it with 'begin immediate' ({error})"
            ) from error
        except apsw.Error:
            with named_errors(self.path):
                raise

    def _joined(self, rings: list[Ring], expires_ms: int, pages: int) -> None:
        if self._writer is None:
            return
        self.bell.ring(rings)
        if expires_ms < NEVER:
            self.bell.ring_expiry(expires_ms)
        self._writer.grown(pages)


def _ours(connection: object) -> apsw.Connection:
    if isinstance(connection, apsw.Connection):
        return connection
    kind = type(connection)
    if kind.__module__.partition(".")[0] in ("sqlite3", "_sqlite3"):
        raise BadInput(STDLIB)
    raise BadInput(
        f"a {kind.__module__}.{kind.__qualname__} is not a connection to this road: take one "
        "from road.connection()"
    )
