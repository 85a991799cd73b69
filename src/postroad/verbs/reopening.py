"""Lifts blocks of queues as soon as what they are for is over: the quota of a recipient that takes
messages again, the refusal of a credential that was repaired."""

from collections.abc import Callable, Iterable
from typing import Final

from postroad.model.block import BlockKind
from postroad.model.errors import StoreError
from postroad.observe.tasks import Tasks
from postroad.ports.campaigns import Credentials
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.ports.transport import Closable, Reopens, Transport

LOOKS_S: Final = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""When to look for blocks. The news that a mailbox is open may come before the blocks are written:
several sends that were in flight together are refused, and each writes one."""

SLICE: Final = 100


class Reopening:
    """Lifts quota blocks when recipients say that they accept messages again."""

    def __init__(self, store: Store, transports: Iterable[Transport], log: Log) -> None:
        self._store = store
        self._log = log
        self._closing = [each for each in transports if isinstance(each, Closable)]
        self.tasks = Tasks(log)
        for each in transports:
            if isinstance(each, Reopens):
                each.on_reopen(self.reopen)

    def reopen(self, tenant: str, queue: str, still: Callable[[], bool]) -> None:
        """Lift the quota block of a queue while `still` is true."""
        _ = self.tasks.start(self._lift(tenant, queue, still), "reopening")  # kept there

    async def close(self) -> None:
        """Close the transports, and stop."""
        for each in self._closing:
            await each.close()
        await self.tasks.close()

    async def _lift(self, tenant: str, name: str, still: Callable[[], bool]) -> None:
        try:
            for wait_s in LOOKS_S:
                await self._store.clock.sleep(wait_s)
                if not still():
                    return  # refused again: the recipient will tell us
                queue = await self._store.find_queue(tenant, name)
                if queue and queue.block and queue.block.kind is BlockKind.quota:
                    await self._store.unblock_queue(queue.id)
        except StoreError as error:
            self._log.warning("could not lift a quota block", queue=name, error=str(error))


async def open_refused(
    credentials: Credentials, store: Store, name: str, kind: str, tenant: str = ""
) -> None:
    """Let the queues of a credential go on that were disabled since it was refused: of a tenant, or
    of all. Where it is refused again, one try is spent."""
    after = 0
    while found := await credentials.refused(tenant, kind, name, after, SLICE):
        after = found[-1]
        for queue in found:
            await store.unblock_queue(queue)
