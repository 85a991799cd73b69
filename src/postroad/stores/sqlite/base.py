"""An open SQLite file: its one writer, its reader, and how work reaches them."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from postroad.model.errors import NotOpen
from postroad.model.record import WORKER_LOST, Reaped
from postroad.model.states import NEVER
from postroad.observe.log import make_log
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.bell import LocalBell
from postroad.stores.privacy import make_private
from postroad.stores.sqlite import control
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.file_lock import FileLock
from postroad.stores.sqlite.migration import migrate
from postroad.stores.sqlite.writer import Drive, ThreadDrive, Writer
from postroad.stores.statements import Row, Statements, Value

T = TypeVar("T")


class SqliteBase(Statements):
    """One file, one process. `drive` makes the thread that a writer or reader works in."""

    def __init__(self, path: Path, clock: Clock, drive: Callable[[], Drive] = ThreadDrive) -> None:
        self.path = path
        self.clock = clock
        self.bell = LocalBell()
        self._drive = drive
        self.log: Log = make_log("warning")
        self._lock = FileLock(path)
        self._databases: list[Database] = []
        self._writer: Writer | None = None
        self._reader: Writer | None = None

    @property
    def queries(self) -> dict[str, int]:
        """Statements run so far, by what for."""
        total: Counter[str] = Counter()
        for db in self._databases:
            total += db.counts
        return dict(total)

    @property
    def is_read_by_thread(self) -> bool:
        """Whether the reader's thread is at work."""
        return self._reader is not None and self._reader.works_apart

    async def open(self) -> None:
        """Own the file, bring its schema up to date, and free the lanes of dead processes."""
        self._lock.take()
        for file in make_private(self.path):
            self.log.warning("others could read this file: made private", file=str(file))
        self._databases = []
        try:
            db = Database(self.path)
            self._databases.append(db)
            _ = migrate(db)  # how many steps it took does not matter
            db.listed_until = db.number("list_mark") or 0
            reader = Database(self.path, readonly=True)
            self._databases.append(reader)
            self._writer = Writer(db, self._drive(), self.bell.ring)
            self._reader = Writer(reader, self._drive(), self.bell.ring, reads=True)
            # The lock proves that every other owner of this file is dead.
            # What these were asked to cancel is cancelled first.
            while (reaped := await self.write("reap", self._reap_all)).wishes:
                pass
            for lost in reaped.workers:
                self.log.warning(WORKER_LOST, host=lost.host, pid=lost.pid, lanes=lost.lanes)
        except BaseException:
            await self.close()
            raise

    def _reap_all(self, db: Database) -> Reaped:
        return control.reap(db, NEVER, self.clock.now_ms())

    async def close(self) -> None:
        """Finish the work that was submitted, then close the file."""
        for side in (self._writer, self._reader):
            if side is not None:
                await side.close()
        self._writer = self._reader = None
        self._close_files()

    def _close_files(self) -> None:
        for db in reversed(self._databases):
            db.close()
        self._lock.drop()

    def hear_own(self, who: str, call: Callable[[], None]) -> None:
        """Call it when this process rings for jobs: replays or timetables."""
        self.bell.on_own[who] = call

    async def ring_own(self, kind: str) -> None:
        """Wake those who work at such jobs: no other process has this file."""
        self.bell.ring_own(kind)

    async def write(
        self,
        label: str,
        work: Callable[[Database], T],
        *,
        durable: bool = False,
        hasty: bool = False,
    ) -> T:
        """Run work in the one writer's transaction; answers after the commit."""
        if self._writer is None:
            raise NotOpen("the road is not open: use it inside `async with road:`")
        return await self._writer.submit(_labelled(label, work), durable=durable, hasty=hasty)

    async def read(self, label: str, work: Callable[[Database], T]) -> T:
        """Run work in the reader's transaction: it sees one moment."""
        if self._reader is None:
            raise NotOpen("the road is not open: use it inside `async with road:`")
        return await self._reader.submit(_labelled(label, work))

    async def select(self, label: str, name: str, *values: Value) -> list[Row]:
        """Run a statement in the reader's transaction; answers its rows."""
        return await self.read(label, lambda db: db.all(name, *values))

    async def count(self, label: str, name: str, *values: Value) -> int:
        """Run a statement; answers, when it is on the disk, how many rows it changed."""
        return await self.write(label, lambda db: db.changed(name, *values), durable=True)

    async def insert(self, label: str, name: str, *values: Value) -> int:
        """Run a statement; answers, when it is on the disk, the number of its row."""
        return await self.write(label, lambda db: db.number(name, *values) or 0, durable=True)


@contextmanager
def locked(path: Path) -> Iterator[Database]:
    """A file that nobody runs, opened for one piece of work."""
    lock = FileLock(path)
    lock.take()
    try:
        with closing(Database(path)) as db:
            yield db
    finally:
        lock.drop()


def _labelled(label: str, work: Callable[[Database], T]) -> Callable[[Database], T]:
    def labelled(db: Database) -> T:
        db.label = label
        return work(db)

    return labelled
