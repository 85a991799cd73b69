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
from postroad.stores.bell import Ring
from postroad.stores.sqlite import database
from postroad.stores.sqlite.database import Database, named_errors

T = TypeVar("T")
CHECKPOINT_PAGES: Final = 4_000
"""16 MB of log. In a longer log more pages were written twice and are copied once."""

HASTE_MS: Final = 250


class WorkItem:
    """One piece of work, its result, and the future that waits for it."""

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
        """Set the future's result, unless it was cancelled."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)


Batch = tuple[list[WorkItem], list[Ring]]


class Drive(Protocol):
    """Runs batches: in a thread, or inline in simulated time."""

    apart: bool
    """In a thread."""

    def start(self, drain: Callable[[], Batch], finish: Callable[[Batch], None]) -> None:
        """Begin: `drain` does the work, `finish` resolves the futures in the event loop."""

    def wake(self) -> None:
        """Run a batch soon: work was submitted."""

    async def stop(self) -> None:
        """Finish the work that was submitted."""


class ThreadDrive:
    """Batches run in one thread; while it commits, the next batch gathers by itself."""

    apart = True

    def __init__(self) -> None:
        self._work = threading.Semaphore(0)
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self, drain: Callable[[], Batch], finish: Callable[[Batch], None]) -> None:
        """Start the thread."""
        loop = asyncio.get_running_loop()

        def turn() -> None:
            while True:
                self._work.acquire()
                batch = drain()
                if batch[0]:
                    loop.call_soon_threadsafe(finish, batch)
                elif self._stopping:
                    return
                del batch  # else it is kept until the next one

        self._thread = threading.Thread(target=turn, name="postroad-sqlite", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Run a batch soon: work was submitted."""
        self._work.release()

    async def stop(self) -> None:
        """Finish the work that was submitted."""
        self._stopping = True
        self._work.release()
        if self._thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)


class InlineDrive:
    """Batches run in the event loop itself, so that simulated time can hold the real store."""

    apart = False

    def __init__(self) -> None:
        # The store's own context: what a crashed sender handed over is still committed,
        # as it would be by a server.
        self._context = contextvars.copy_context()
        self._turn: Callable[[], None] = lambda: None
        self._woken = False

    def start(self, drain: Callable[[], Batch], finish: Callable[[Batch], None]) -> None:
        """Start the thread."""

        def turn() -> None:
            self._woken = False
            finish(drain())

        self._turn = turn

    def wake(self) -> None:
        """Run a batch soon: work was submitted."""
        if not self._woken:
            self._woken = True
            asyncio.get_running_loop().call_soon(self._turn, context=self._context)

    async def stop(self) -> None:
        """Finish the work that was submitted."""
        self._turn()


class Writer:
    """Commits submitted work in batches, and answers after the commit."""

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
        self._waiting: deque[WorkItem] = deque()
        self._durable = True
        self._hasty = False
        self._open = True
        self._wal_pages = 0
        self._pending = 0
        """Pieces of work that have not ended."""
        self.commits = 0
        if not reads:
            db.connection.set_wal_hook(self._on_commit)
        drive.start(self._drain, self._finish)

    def submit(
        self, work: Callable[[Database], T], *, durable: bool = True, hasty: bool = False
    ) -> "asyncio.Future[T]":
        """Submit work; the future is resolved after the commit. `durable` commits reach the disk
        before that; others survive a crash of the process, not of the machine. `hasty` work
        waits 250 ms at most for transactions of others."""
        if not self._open:
            raise NotOpen("the store is closed: use the road inside `async with road:`")
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._pending += 1
        self._waiting.append(WorkItem(work, future, durable=durable, hasty=hasty))
        self._drive.wake()
        return cast("asyncio.Future[T]", future)

    @property
    def works_apart(self) -> bool:
        """Whether a thread has work that has not ended."""
        return self._pending > 0 and self._drive.apart

    def grown(self, pages: int) -> None:
        """Checkpoint if needed: another connection has committed, and the log has so many pages."""
        if pages > CHECKPOINT_PAGES and self._open:
            self._wal_pages = pages
            turn = self.submit(lambda _db: None, durable=False)
            turn.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def close(self) -> None:
        """Finish the work that was submitted, then stop."""
        self._open = False
        await self._drive.stop()

    def _drain(self) -> Batch:
        batch: list[WorkItem] = []
        while self._waiting:
            batch.append(self._waiting.popleft())
        if not batch:
            return batch, []
        rings: list[Ring] = []
        try:
            rings += self._commit(batch)
        except Exception as error:  # noqa: BLE001 - the future gets it
            if len(batch) == 1:
                batch[0].error = error
            else:
                rings += self._one_by_one(batch)
        return batch, rings

    def _finish(self, batch: Batch) -> None:
        items, rings = batch
        self._pending -= len(items)
        if rings:
            self._ring(rings)
        for item in items:
            item.resolve()

    def _one_by_one(self, batch: list[WorkItem]) -> list[Ring]:
        """Commit each by itself after one of them failed, so that it fails alone."""
        rings: list[Ring] = []
        for item in batch:
            try:
                rings += self._commit([item])
            except Exception as error:  # noqa: BLE001 - the future gets it
                item.error = error
        return rings

    def _commit(self, batch: list[WorkItem]) -> list[Ring]:
        db = self._db
        db.rings = []
        with named_errors(db.path):
            if not self._reads:
                self._sync(durable=any(item.durable for item in batch))
                self._hurry(hasty=all(item.hasty for item in batch))
            db.connection.execute("begin" if self._reads else "begin immediate")
            try:
                for item in batch:
                    item.value = item.work(db)
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
