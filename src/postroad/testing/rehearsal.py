"""A road for tests of programs: on a temporary file, in simulated time, without `await`."""

import asyncio
import math
import threading
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, TypeVar, Unpack

from postroad import app
from postroad.config import Settings
from postroad.model.batch import BatchStatus
from postroad.model.durations import CENTURY_S, Duration, seconds_of
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput
from postroad.model.limits import Limits
from postroad.observe.log import make_log
from postroad.ports.clock import LoopClock
from postroad.stores.sqlite.database import Database, Row
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import InlineDrive
from postroad.sync import Face
from postroad.testing.actors import Actor, Actors
from postroad.testing.redirect import Redirect
from postroad.testing.sent import NOTE, NOTED, Sent, SentMatch, matching, read_sent
from postroad.testing.simloop import SimLoop
from postroad.verbs.batches import BatchVerbs
from postroad.verbs.blocking import BlockingBatches, BlockingJobs, blocking, receipted
from postroad.verbs.handler_calls import Home
from postroad.verbs.parts import Parts

R = TypeVar("R")
START_MS: Final = 1_767_225_600_000
DRAIN_S: Final = 0.01
SAFETY_POLL_S: Final = 86_400.0
"""No other process uses the file, so no ring is lost; polls each 90 s were two thirds of the work
of a simulated day."""


class RehearsedBatches(BlockingBatches):
    """Batches of a rehearsal: only who waits for an end lets time pass."""

    def __init__(
        self,
        target: BatchVerbs,
        hand_over: Callable[[Coroutine[Any, Any, Any]], Any],
        live: Callable[[Coroutine[Any, Any, Any]], Any],
    ) -> None:
        super().__init__(target, hand_over)
        self._live = live

    wait = blocking(BatchVerbs.wait, via="_live")

    def cancel(
        self,
        id: str,  # noqa: A002 - the word that receipts use
        *,
        running: bool = False,
        wait: Duration = 10.0,
        tenant: str = DEFAULT_TENANT,
    ) -> BatchStatus:
        """Cancel the members of a batch. What has begun ends while time passes."""
        verb = partial(self._target.cancel, id, running=running, tenant=tenant)
        asked: BatchStatus = self._wait(verb(wait=0))
        return asked if asked.over else self._live(verb(wait=wait))


class Rehearsal(Face):
    """A road that delivers only in `deliver_all`, `advance` and `run`; otherwise time stands still.
    It starts at 2026-01-01 in UTC."""

    def __init__(self, path: Path, seed: int = 0) -> None:
        self._loop = SimLoop(seed)
        self._store = SqliteStore(path, LoopClock(START_MS), drive=InlineDrive)
        super().__init__(
            app.Postroad(
                settings=Settings(limits=Limits(drain_s=DRAIN_S, safety_poll_s=SAFETY_POLL_S)),
                parts=Parts(
                    store=self._store,
                    chance=self._loop.rng,
                    log=make_log("warning"),
                    threads=Actors,
                ),
            )
        )
        self._node = self._loop.node("road")
        self._running: asyncio.Task[None] | None = None
        self._pools: list[str] = []
        self._homes: list[Home] = []
        self._redirects: list[Redirect] = []
        self.jobs = BlockingJobs(self._target.jobs, self._wait_for_end)
        self.batches = RehearsedBatches(self._target.batches, self._hand_over, self._wait_for_end)

    def __enter__(self) -> Self:
        self._hand_over(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        for home in self._homes:
            home.host = None
        for redirect in reversed(self._redirects):
            redirect.end()
        try:
            self._thaw()
            self._hand_over(self._close())
        finally:
            self._loop.close()

    @property
    def now(self) -> datetime:
        """The simulated time."""
        return datetime.fromtimestamp(START_MS / 1000 + self._loop.time(), UTC)

    def adopt(self, other: "app.Postroad | Face") -> None:
        """Use the handlers, timetables and what is provided of your program's own road. While the
        test runs, its verbs and `function.send(…)` of its handlers go to this road."""
        source = other if isinstance(other, app.Postroad) else other.postroad
        self._target.registry.adopt(source.registry)
        self._homes.append(source.registry.home)
        self._redirects.append(Redirect(source, self._target, self._wait))

    # Sending

    send = receipted(app.Postroad.send, via="_hand_over")
    send_many = receipted(app.Postroad.send_many, via="_hand_over")
    send_in = receipted(app.Postroad.send_in, via="_hand_over")
    batch = blocking(BatchVerbs.batch, via="_hand_over")
    chain = blocking(BatchVerbs.chain, via="_hand_over")

    def sent(self, queue: str = "", body: object = ..., **which: Unpack[SentMatch]) -> list[Sent]:
        """The messages sent so far, in order: to one queue, or all, with this body, if one is
        given. More to choose by: `prefix` of the queue, `contains` for some fields of the body,
        `headers`, `key`, `order_key`, `priority`, `tenant`, and `where`, a function."""

        def read(db: Database) -> list[Row]:
            return db.connection.execute(NOTED).fetchall()

        async def ask() -> list[Row]:
            return await self._store.read("insight", read)

        rows = self._hand_over(ask())
        return matching([read_sent(row) for row in rows], queue, body, which)

    def assert_sent(
        self,
        queue: str = "",
        body: object = ...,
        *,
        count: int | None = None,
        **which: Unpack[SentMatch],
    ) -> list[Sent]:
        """Fail unless such a message was sent, `count` times if that is given. Without a body any
        message counts; more to choose by is as in `sent`. Returns the messages."""
        __tracebackhide__ = True
        found = self.sent(queue, body, **which)
        if not found if count is None else len(found) != count:
            times = "" if count is None else f" {count} times"
            what = "a message" if body is ... else repr(body)
            more = f" with {', '.join(which)}" if which else ""
            place = f" to {queue!r}" if queue else ""
            listed = "".join(f"\n  {one.body!r}" for one in self.sent(queue)) or " nothing"
            raise AssertionError(f"{what} was not sent{place}{more}{times}; sent there:{listed}")
        return found

    # Delivering

    def deliver_all(self) -> int:
        """Deliver all messages that are due, and those that handlers send; returns how many were
        delivered. Messages for a later time wait."""

        async def deliver() -> None:
            await self._quiet()
            if self._target.engine is not None:
                await self._target.engine.until_idle()

        before = self._hand_over(self._store.counts())
        self._live(deliver())
        return self._hand_over(self._store.counts())["delivered"] - before["delivered"]

    def advance(self, span: Duration) -> None:
        """Let time pass while the road runs, in seconds or as a timedelta: retries, delays,
        deadlines and timetables come due."""
        seconds = seconds_of(span)
        if not 0 <= seconds <= CENTURY_S:
            raise BadInput(f"advance({span!r}): give seconds or a timedelta, not a negative one")

        async def pass_time() -> None:
            await asyncio.sleep(seconds)
            await self._quiet()

        self._live(pass_time())

    def run(self, story: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine in simulated time while the road runs."""

        async def whole() -> R:
            answer = await story
            await self._quiet()
            return answer

        return self._live(whole())

    # How time passes

    async def _open(self) -> None:
        await self._store.open()
        # It gives no rows.
        _ = await self._store.write("test", lambda db: db.connection.execute(NOTE))
        _ = await self._target.__aenter__()  # it answers itself

    async def _close(self) -> None:
        await self._end_run()
        await self._target.__aexit__(None, None, None)
        await self._store.close()

    async def _end_run(self) -> None:
        if self._running is not None:
            running, self._running = self._running, None
            self._target.stop()
            await running

    def _live(self, story: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine while time passes and the road runs."""

        async def whole() -> R:
            pools = self._target._handlers.pools()  # noqa: SLF001
            if pools != self._pools:
                await self._end_run()  # an engine serves the handlers that it began with
            if self._running is None:
                self._pools = pools
                self._running = self._node.spawn(self._target.run())
                await self._quiet()
            return await story

        if isinstance(threading.current_thread(), Actor):
            story.close()
            raise BadInput("let time pass from the test, not from a handler")
        self._thaw()
        try:
            answer = self._hand_over(whole())
        finally:
            self._node.stopped_until = math.inf
        if self._running is not None and self._running.done():
            self._running.result()
        return answer

    def _thaw(self) -> None:
        self._node.stopped_until = 0.0
        self._node.pause(0)  # what was held back goes on

    def _wait(self, verb: Coroutine[Any, Any, R]) -> R:
        """Run a verb that may need a running engine."""
        apart = self._running is None or isinstance(threading.current_thread(), Actor)
        return self._hand_over(verb) if apart else self._live(verb)

    def _wait_for_end(self, verb: Coroutine[Any, Any, R]) -> R:
        """Wait for the end of a job or a batch, while the road runs and time passes."""
        if isinstance(threading.current_thread(), Actor):
            return self._hand_over(verb)
        return self._live(verb)

    def _hand_over(self, verb: Coroutine[Any, Any, R]) -> R:
        """Run a verb without delivering anything meanwhile."""
        actor = threading.current_thread()
        if isinstance(actor, Actor):
            return actor.ask(verb)
        if self._loop.is_running():
            verb.close()
            raise BadInput("in a coroutine use `road.postroad`, and await it")
        return self._loop.run(verb)

    async def _quiet(self) -> None:
        """Wait until nothing more can happen at this instant."""
        loop = self._loop
        while loop._ready or (loop._scheduled and loop._scheduled[0].when() <= loop.time()):  # noqa: ASYNC110, SLF001
            await asyncio.sleep(0)
