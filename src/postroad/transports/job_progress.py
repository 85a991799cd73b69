"""Progress of running jobs: gathered, and written at most once a second."""

import asyncio
import sys
from threading import Lock
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.entities import Message
from postroad.model.errors import BadInput, StoreError
from postroad.model.foreign import clean
from postroad.model.job_output import JobOutput, OutputKind
from postroad.ports.clock import Clock
from postroad.ports.job_outputs import JobOutputs
from postroad.ports.log import Log

EVERY_S: Final = 1.0
LARGEST: Final = sys.float_info.max
KEPT_MS: Final = 24 * 3_600_000
NOTE_CHARACTERS_MAX: Final = 500


class Progress(Struct, frozen=True):
    """How far a job has come: so much of `total`, if that is known, and a note; when it said so."""

    done: float
    total: float
    note: str
    at_ms: int
    attempt: int = 0
    """Which try said so, from 1."""


def check_progress(done: float, total: float) -> None:
    """Refuse what no job can have come to."""
    given: list[object] = [done, total]
    if not all(isinstance(each, int | float) and 0 <= each <= LARGEST for each in given):
        raise BadInput(f"progress({done!r}, {total!r}): give numbers, not negative ones")


def shortened(note: object) -> str:
    """A note as it is kept."""
    return clean(str(note), NOTE_CHARACTERS_MAX)


class ProgressReports:
    """Takes what jobs report, from any thread, and writes the latest of each."""

    def __init__(self, store: object, clock: Clock, log: Log) -> None:
        self._store = store if isinstance(store, JobOutputs) else None
        self._clock = clock
        self._log = log
        self._latest: dict[int, JobOutput] = {}
        self._lock = Lock()
        self._reported = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def report(self, message: Message, done: float, total: float, note: str) -> None:
        """Take how far a job has come."""
        check_progress(done, total)
        if self._store is None or self._loop is None:
            return
        now_ms = self._clock.now_ms()
        said = Progress(float(done), float(total), shortened(note), now_ms, message.attempts + 1)
        body = msgspec.json.encode(said)
        ends_at_ms = now_ms + KEPT_MS
        output = JobOutput(message.id, OutputKind.progress, message.queue, ends_at_ms, body)
        with self._lock:
            first = not self._latest
            self._latest[message.id] = output
        if first:  # a job may report a million times
            self._loop.call_soon_threadsafe(self._reported.set)

    async def run(self) -> None:
        """Write reports while the road runs."""
        self._loop = asyncio.get_running_loop()
        while True:
            _ = await self._reported.wait()  # it is always true
            self._reported.clear()
            await self.write()
            await self._clock.sleep(EVERY_S)

    async def write(self) -> None:
        """Write what was reported since. What cannot be written is kept for the next time, unless a
        later report has replaced it."""
        with self._lock:
            latest, self._latest = self._latest, {}
        if not latest or self._store is None:
            return
        try:
            await self._store.put_outputs(list(latest.values()))
        except StoreError as error:
            self._log.store_failed("write the progress of jobs", error)
            with self._lock:
                self._latest = latest | self._latest
            self._reported.set()
