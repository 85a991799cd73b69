"""Who works on this road: what each worker lets the others know through the state store."""

from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from postroad.model.errors import StoreError
from postroad.model.rollup import Worker, WorkerState
from postroad.stores.postgres.store import PostgresStore
from postroad.stores.rabbitmq.base import RabbitBase
from postroad.stores.sqlite.store import SqliteStore

HEARD_S: Final = 60.0
"""At most so often; an idle worker polls every 90 s."""


class RabbitWorkers(RabbitBase):
    """Lists workers. Lanes are owned in memory, so that the state store has no heartbeats."""

    async def tell_heard(self, owner: int) -> None:
        """Write a sign of life for other processes, at most once a minute. A state store that is
        away only makes this worker look silent."""
        now_s = self.clock.steady_s()
        state, told_s = self.state, self._told_s.get(owner, -HEARD_S)
        if not isinstance(state, PostgresStore) or now_s - told_s < HEARD_S:
            return
        self._told_s[owner] = now_s
        with suppress(StoreError):
            await state.heard_from(owner, len(self.delivered.owned_by(owner)))

    async def workers(self) -> list[Worker]:
        """List the workers of the fleet; those of this process as they are now."""
        state = self.state
        if isinstance(state, SqliteStore):
            found = await state.workers_heard(self.bell.owners)
        else:
            found = await state.workers()
        return [self._as_known(each) for each in found]

    def _as_known(self, worker: Worker) -> Worker:
        if worker.process not in self.bell.owners:
            return worker
        lanes = len(self.delivered.owned_by(worker.process))
        state = WorkerState.working if lanes else WorkerState.idle
        return replace(worker, state=state, lanes=lanes, heard_at_ms=self.clock.now_ms())
