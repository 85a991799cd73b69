"""One writer with group commit: what waits together is committed together."""

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol, TypeVar, cast

import apsw

from postroad.model.errors import NotOpen
from postroad.stores.sqlite import database
from postroad.stores.sqlite.bell import Ring
from postroad.stores.sqlite.database import Database, named_errors

T = TypeVar("T")
CHECKPOINT_PAGES: Final = 4_000
"""16 MB of log: the longer it is, the more often a page written twice is copied once."""

HASTE_MS: Final = 250


class Ask:
    """One piece of work, its answer, and the future that waits for it."""

    __slots__ = ("durable", "error", "future", "hasty", "value", "work")

    def __init__(
        self,
        work: Callable[[Database], object],
        future: "asyncio.Future[object]",
        *,
        durable: bool,
        hasty: bool,
    ) -> None:
        self.work = work
        self.future = future
        self.durable = durable
        self.hasty = hasty
        self.value: object = None
        self.error: BaseException | None = None

    def resolve(self) -> None:
        """Tell the one who waits, if it still does."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)


Batch = tuple[list[Ask], list[Ring]]


class Drive(Protocol):
    """Runs batches somewhere: in a thread, or inline in simulated time."""

    def start(self, drain: Callable[[], Batch], finish: Callable[[Batch], None]) -> None:
        """Begin: `drain` does the work, `finish` tells those who wait, in the loop."""

    def wake(self) -> None:
        """There is something to do."""

    async def stop(self) -> None:
        """Finish what was handed over."""


class ThreadDrive:
    """Batches run in one thread; while it commits, the next batch gathers by itself."""

    def __init__(self) -> None:
        self._work = threading.Semaphore(0)
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self, drain: Callable[[], Batch], finish: Callable[[Batch], None]) -> None:
        """Begin."""
        loop = asyncio.get_running_loop()

        def turn() -> None:
            while True:
                self._work.acquire()
                batch = drain()
                if batch[0]:
                    loop.call_soon_threadsafe(finish, batch)
                elif self._stopping:
                    return

        self._thread = threading.Thread(target=turn, name="postroad-sqlite", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There is something to do."""
        self._work.release()

    async def stop(self) -> None:
        """Finish what was handed over."""
        self._stopping = True
        self._work.release()
        if self._thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)


class InlineDrive:
    """Batches run in the event loop itself, so that simulated time can hold the real store."""

    def __init__(self) -> None:
        # The store's own context: what a crashed sender handed over is still committed,
        # as it would be by a server.
        self._context = contextvars.copy_context()
        self._turn: Callable[[], None] = lambda: None
        self._woken = False

    def start(self, drain: Callable[[], Batch], finish: Callable[[Batch], None]) -> None:
        """Begin."""

        def turn() -> None:
            self._woken = False
            finish(drain())

        self._turn = turn

    def wake(self) -> None:
        """There is something to do."""
        if not self._woken:
            self._woken = True
            asyncio.get_running_loop().call_soon(self._turn, context=self._context)

    async def stop(self) -> None:
        """Finish what was handed over."""
        self._turn()


class Writer:
    """Takes pieces of work, commits them in batches, and answers after the commit."""

    def __init__(
        self,
        db: Database,
        drive: Drive,
        ring: Callable[[list[Ring]], None],
        *,
        reads: bool = False,
    ) -> None:
        self._db = db
        self._drive = drive
        self._ring = ring
        self._reads = reads
        self._waiting: deque[Ask] = deque()
        self._durable = True
        self._hasty = False
        self._open = True
        self._wal_pages = 0
        self.commits = 0
        if not reads:
            db.connection.set_wal_hook(self._on_commit)
        drive.start(self._drain, self._finish)

    def submit(
        self, work: Callable[[Database], T], *, durable: bool = True, hasty: bool = False
    ) -> "asyncio.Future[T]":
        """Hand over; the answer comes after the commit. `durable` commits reach the disk
        before they are answered; others survive a crash of the process, not of the machine.
        A `hasty` one hardly waits for transactions of others."""
        if not self._open:
            raise NotOpen("the store is closed: use the road inside `async with road:`")
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting.append(Ask(work, future, durable=durable, hasty=hasty))
        self._drive.wake()
        return cast("asyncio.Future[T]", future)

    def grown(self, pages: int) -> None:
        """Another connection has committed, and the log has so many pages now."""
        if pages > CHECKPOINT_PAGES and self._open:
            self._wal_pages = pages
            turn = self.submit(lambda _db: None, durable=False)
            turn.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def close(self) -> None:
        """Finish what was handed over, then stop."""
        self._open = False
        await self._drive.stop()

    def _drain(self) -> Batch:
        batch: list[Ask] = []
        while self._waiting:
            batch.append(self._waiting.popleft())
        if not batch:
            return batch, []
        rings: list[Ring] = []
        try:
            rings += self._commit(batch)
        except Exception as error:  # noqa: BLE001 - handed to the one who waits
            if len(batch) == 1:
                batch[0].error = error
            else:
                rings += self._one_by_one(batch)
        return batch, rings

    def _finish(self, batch: Batch) -> None:
        asks, rings = batch
        if rings:
            self._ring(rings)
        for ask in asks:
            ask.resolve()

    def _one_by_one(self, batch: list[Ask]) -> list[Ring]:
        """One of them is bad: the others must not suffer for it."""
        rings: list[Ring] = []
        for ask in batch:
            try:
                rings += self._commit([ask])
            except Exception as error:  # noqa: BLE001 - handed to the one who waits
                ask.error = error
        return rings

    def _commit(self, batch: list[Ask]) -> list[Ring]:
        db = self._db
        db.rings = []
        with named_errors(db.path):
            if not self._reads:
                self._sync(durable=any(ask.durable for ask in batch))
                self._hurry(hasty=all(ask.hasty for ask in batch))
            db.connection.execute("begin" if self._reads else "begin immediate")
            try:
                for ask in batch:
                    ask.value = ask.work(db)
                db.connection.execute("commit")
            except BaseException:
                # SQLite itself has rolled back when the disk is full.
                if db.connection.in_transaction:
                    db.connection.execute("rollback")
                db.rungs.clear()
                raise
            self.commits += 1
        self._checkpoint()
        return db.rings

    def _sync(self, *, durable: bool) -> None:
        if durable != self._durable:
            level = "full" if durable else "normal"
            self._db.connection.execute(f"pragma synchronous = {level}")
            self._durable = durable

    def _hurry(self, *, hasty: bool) -> None:
        if hasty != self._hasty:
            self._db.connection.set_busy_timeout(HASTE_MS if hasty else database.PATIENCE_MS)
            self._hasty = hasty

    def _on_commit(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._wal_pages = pages
        return 0

    def _checkpoint(self) -> None:
        if self._wal_pages > CHECKPOINT_PAGES:
            self._wal_pages = 0
            # What could not be brought home now (a full disk) stays in the log: the commit stands.
            with suppress(apsw.Error):
                self._db.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
