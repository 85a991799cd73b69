"""A sender works on one job: it reads its recipients ahead, for the lanes that they are sent on."""

from typing import Final

from postroad.campaigns.job_run import RETRY_S, JobContext, JobRun, SenderDeps, halt
from postroad.campaigns.sending_lanes import LaneOpener, SendingLanes
from postroad.model.campaign import Pulse, Row
from postroad.model.errors import PostroadError, StoreError
from postroad.model.foreign import error_text
from postroad.model.states import NEVER

SLICE: Final = 2_000
PAGE: Final = 1_000
TURN: Final = "queue recipients"


class Sender:
    """Sends one job's messages until the job is done, is stopped or has another owner."""

    def __init__(self, deps: SenderDeps, context: JobContext, opener: LaneOpener) -> None:
        self._deps = deps
        self._context = context
        self._run = JobRun(deps, context)
        self._lanes = SendingLanes(self._run, opener)
        self._after = 0
        """Up to which row the queue has been read."""
        self._at_end = False
        self._found = False
        """Somebody was found since the queue was read from its beginning."""

    @property
    def waiting(self) -> bool:
        """Whether nobody can be sent to now, and when is known."""
        return self._run.hours.waiting and not self._run.recorder.busy

    def stop(self) -> None:
        """Begin no more calls; messages that wait for a slot go back to the queue."""
        self._run.stop()
        self._lanes.wake()

    def leave(self) -> None:
        """Stop, and wait for a store that is away no longer than the drain time."""
        self._run.recorder.leave(self._deps.clock.steady_s() + self._deps.drain_s)
        self.stop()

    def hear(self, pulse: Pulse | None) -> None:
        """Obey the state of the job; None: it has another owner."""
        if pulse is None or pulse.campaign != "running":
            self.stop()
        else:
            self._run.blocked_until_ms = pulse.blocked_until_ms

    async def run(self) -> None:
        """Send until nothing is left, wait for calls that are under way, then release the job."""
        try:
            while not self._run.stopping and await self._tried():
                pass
        finally:
            self.stop()
            try:
                await self._drain()
            except BaseException:
                await self._run.lanes.close()
                await self._run.tasks.close()  # their results would never be written
                raise
            await self._let_go()

    async def close(self) -> None:
        """Close the sessions of its lanes."""
        await self._lanes.close()

    async def _tried(self) -> bool:
        try:
            more = await self._turn()
        except StoreError as error:
            self._deps.log.store_failed(TURN, error)
            await self._deps.clock.sleep(RETRY_S)
            return True
        self._deps.log.store_works(TURN)
        return more

    async def _turn(self) -> bool:
        """Read a page, or wait; False when nothing is left."""
        run = self._run
        run.check()
        if run.refused:
            await halt(self._deps, self._context.campaign, run.refused)
            return False
        if run.hours.waiting:
            return await self._wait_for_hours()
        after = self._next_page()
        if after is not None:
            await self._read(after)
        elif self._lanes.working or run.recorder.busy or self._lanes.missing:
            await self._changed()
        else:
            return await self._again()
        return True

    def _next_page(self) -> int | None:
        """Return where to read on, or None. Lanes that have capacity again come first."""
        after = self._lanes.missed_after()
        if after is None and not self._at_end and self._lanes.wants_more:
            after = self._after
        return after

    async def _read(self, after: int) -> None:
        """Read queued recipients, else enqueue a slice."""
        store, context = self._deps.store, self._context
        rows = await store.queued(context.job, after, PAGE)
        if rows:
            last = rows[-1].n
            again, self._after = after < self._after, max(self._after, last)
            self._lanes.passed(after, last, self._after)
            await self._share_out(rows, again=again)
        elif after < self._after:
            self._lanes.passed(after, NEVER, self._after)
        else:
            self._at_end = not await store.enqueue(self._deps.owner, context.job, SLICE)

    async def _share_out(self, rows: list[Row], *, again: bool) -> None:
        """Give recipients to their lanes, but for those who may not be sent to, or not now."""
        run, now_ms = self._run, self._deps.clock.now_ms()
        rows = [row for row in rows if row.n not in run.ahead and run.may_go(row, (), now_ms)]
        try:
            lanes = await self._lanes.of(rows)
        except StoreError:
            raise
        except PostroadError as error:
            run.refuse(error_text(error))
            return
        suppressed = await self._deps.road.suppressed(
            self._context.campaign.tenant, [row.recipient for row in rows]
        )
        for row, lane in zip(rows, lanes, strict=True):
            if row.recipient in suppressed:
                run.keep_back(row, suppressed[row.recipient])
            elif self._lanes.is_full(lane):
                lane.missed(row.n)
            elif run.may_go(row, lane.queue.hours, now_ms):
                lane.add(row)
                self._found = True
        if again and run.hours.put_off:
            run.hours.look_again()  # some of them were counted before

    async def _again(self) -> bool:
        """All that was read has ended. Read from the beginning once more: somebody may have come
        back. If all that is left has to wait, say so, and begin again then."""
        hours = self._run.hours
        if not self._found and not hours.put_off:
            return False
        if hours.put_off:
            why = hours.wait(self._deps.clock.now_ms())
            await self._deps.store.note(self._context.campaign.id, why)
        if not hours.waiting:
            self._begin()
        return True

    async def _wait_for_hours(self) -> bool:
        await self._lanes.look()
        if not self._run.hours.is_over(self._deps.clock.now_ms()):
            await self._changed()
            return True
        await self._deps.store.note(self._context.campaign.id, "")
        self._begin()
        return True

    def _begin(self) -> None:
        self._after, self._at_end, self._found = 0, False, False

    async def _changed(self) -> None:
        """Wait until a result is written or the sender is stopped; a second at most."""
        changed = self._run.recorder.changed
        changed.clear()
        if self._run.stopping:
            return
        timer = self._deps.clock.later(round(RETRY_S * 1000), changed.set)
        await changed.wait()
        timer.cancel()

    async def _drain(self) -> None:
        recorder = self._run.recorder
        while recorder.busy or self._lanes.working:
            recorder.changed.clear()
            await recorder.changed.wait()
        recorder.check()

    async def _let_go(self) -> None:
        """Release the job. If the store is away until the process ends its lease runs out, and what
        may have been begun is uncertain."""
        while not await self._released() and self._run.recorder.may_wait:
            await self._deps.clock.sleep(RETRY_S)

    async def _released(self) -> bool:
        deps, context = self._deps, self._context
        repeats = context.opened.channel.calls_max > 1
        try:
            await deps.store.release(deps.owner, context.job, self._run.uncalled, repeats=repeats)
        except StoreError as error:
            deps.log.store_failed(TURN, error)
            return False
        deps.log.store_works(TURN)
        return True
