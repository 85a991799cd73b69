"""A road's file that is only looked at: nothing in it is changed."""

import apsw

from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.migration import check
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import Writer


class LookingStore(SqliteStore):
    """Reads a road. It frees no lanes, joins no fleet, and migrates nothing."""

    async def open(self) -> None:
        """Own the file, and read it."""
        self._lock.take()
        try:
            log = self.path.with_name(f"{self.path.name}-wal")
            kept = log.exists() and log.stat().st_size > 0
            reader = Database(self.path, readonly=True)
            self._databases = [reader]
            # Who closes a file last would write its log into it.
            _ = reader.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(kept))
            check(reader)
            reader.listed_until = reader.number("list_mark") or 0
            self._reader = Writer(reader, self._drive(), self.bell.ring, reads=True)
        except BaseException:
            await self.close()
            raise

    async def join(self) -> int:
        """Be nobody: others see no trace of it."""
        return 0

    async def leave(self, owner: int) -> None:
        """There is nothing to leave."""
