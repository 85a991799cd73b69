"""`--processes N`: a supervisor that starts worker processes, watches them, restarts those that
end, and drains all of them when it is stopped. It opens no road and asks the store nothing."""

import asyncio
import os
import signal
import socket
from asyncio.subprocess import Process
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from postroad.cli.supervised import VARIABLE, SupervisorConnection, Word
from postroad.observe.metrics import CountedSample, added
from postroad.ports.clock import Clock
from postroad.ports.log import Log

FIRST_WAIT_S: Final = 1.0
"""How long an ended process waits for its next start; twice as long each time."""
LONGEST_WAIT_S: Final = 60.0
STEADY_S: Final = 60.0
"""One that ran so long has not failed at its start."""
COUNT_S: Final = 2.0
"""How long a sum of metrics waits for the processes."""
LAST_WORDS_S: Final = 1.0
"""How long the last words of a process that has ended are read: they are there by then."""
KILL_AFTER_S: Final = 20.0
"""How long after its drain a process that has not ended is killed."""
STOPPED_CODES: Final = (0, -signal.SIGTERM, -signal.SIGINT, 128 + signal.SIGINT)
"""How a stopped process ends: by the signal itself while it loads and has nothing in hand."""


class WorkerProcess:
    """One process, and what it has said."""

    def __init__(self, process: Process, connection: SupervisorConnection) -> None:
        self.process = process
        self.connection = connection
        self.counts: list[CountedSample] = []
        """What it had counted when it was last asked."""
        self.counted = asyncio.Event()


class ProcessSupervisor:
    """Keeps so many processes of a command running."""

    def __init__(
        self, command: Sequence[str], count: int, drain_s: float, log: Log, clock: Clock
    ) -> None:
        self._command = command
        self._count = count
        self._kill_after_s = drain_s + KILL_AFTER_S
        self._log = log
        self._clock = clock
        self._workers: dict[int, WorkerProcess] = {}
        self._ended_counts: list[CountedSample] = []
        """What processes that have ended had counted: a sum must not go down."""
        self._sums: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._first_works = asyncio.Event()
        self._code = 0

    async def run(self) -> int:
        """Run until stopped; answers the exit code."""
        loop = asyncio.get_running_loop()
        for told in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(told, self._stop)
        async with asyncio.TaskGroup() as group:
            # The first one makes the tables where there are none, and shows what is wrong.
            group.create_task(self._keep(0, self._first_works))
            _ = await self._first_works.wait()  # it is always true
            for number in range(1, self._count):
                group.create_task(self._keep(number, asyncio.Event()))
            _ = await self._stopping.wait()  # it is always true
            await self._drain()
        return self._code

    def _stop(self) -> None:
        self._stopping.set()
        self._first_works.set()  # or never

    async def _keep(self, number: int, works: asyncio.Event) -> None:
        """Start a process, and restart it when it ends."""
        wait_s = FIRST_WAIT_S
        while not self._stopping.is_set():
            begun_s = self._clock.steady_s()
            code = await self._run(number, works)
            if self._stopping.is_set():
                if code not in STOPPED_CODES:
                    self._code = self._code or abs(code)
                break
            if not self._first_works.is_set() and code >= 0:  # nothing ever worked
                self._fail(code)
                break
            if self._clock.steady_s() - begun_s >= STEADY_S:
                wait_s = FIRST_WAIT_S
            self._log.warning("a process ended", number=number, code=code, again_in_s=wait_s)
            await self._rest(wait_s)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        works.set()

    def _fail(self, code: int) -> None:
        """End with the first process, which has said what is wrong. One that a signal has killed
        could say nothing, and is started again."""
        if code == 0:
            self._log.error("the first process ended before it worked, and said no reason")
        self._code = code or 1
        self._stopping.set()

    async def _run(self, number: int, works: asyncio.Event) -> int:
        """Run a process once; answers its exit code."""
        try:
            worker = self._workers[number] = await self._start(number)
        except OSError as error:  # no memory, no descriptor, no process left: that may pass
            self._log.error("a process could not be started", number=number, error=str(error))
            return 1
        if self._stopping.is_set():  # its stop was asked for while it was started
            worker.process.terminate()
        hearing = asyncio.create_task(self._hear(number, worker, works))
        code = await worker.process.wait()
        # Not until the connection ends: a copy of the process may have it open for ever.
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_S):
                await hearing
        del self._workers[number]
        worker.connection.close()
        worker.counted.set()
        totals = [each for each in worker.counts if each.total]
        self._ended_counts = added(self._ended_counts, totals)
        return code

    async def _hear(self, number: int, worker: WorkerProcess, works: asyncio.Event) -> None:
        """Hear what a process says, until it has ended."""
        while (word := await worker.connection.hear()) is not None:
            if word.kind == "started":
                works.set()
                self._log.info("worker process is ready", number=number, pid=worker.process.pid)
            self._answer(worker, word)

    async def _start(self, number: int) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    *self._command,
                    env={**os.environ, VARIABLE: f"{theirs.fileno()}:{number}"},
                    pass_fds=(theirs.fileno(),),
                )
        except OSError:
            ours.close()
            raise
        return WorkerProcess(process, await SupervisorConnection.over(ours))

    def _answer(self, worker: WorkerProcess, word: Word) -> None:
        if word.kind in ("counted", "sum"):
            worker.counts = word.counts
            worker.counted.set()
        if word.kind == "sum":  # beside hearing: others may wait for what this one has counted
            task = asyncio.get_running_loop().create_task(self._say_sum(worker))
            self._sums.add(task)
            task.add_done_callback(self._sums.discard)

    async def _say_sum(self, worker: WorkerProcess) -> None:
        others = [each for each in self._workers.values() if each is not worker]
        worker.connection.say("summed", await self._sum(others))

    async def _sum(self, workers: Iterable[WorkerProcess]) -> list[CountedSample]:
        """What these have counted, and those that ended. One that is silent counts as before."""
        asked = list(workers)
        for worker in asked:
            worker.counted.clear()
            worker.connection.say("count")
        with suppress(TimeoutError):
            async with asyncio.timeout(COUNT_S):
                for worker in asked:
                    _ = await worker.counted.wait()  # it is always true
        return added(self._ended_counts, *(worker.counts for worker in asked))

    async def _drain(self) -> None:
        """Have all processes finish what they do, and kill those that do not."""
        for worker in self._workers.values():
            with suppress(ProcessLookupError):
                worker.process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._kill_after_s):
                while left := [one for one in self._workers.values() if _runs(one)]:
                    # Also of one that was being started. Codes are looked at where they run.
                    _ = await asyncio.gather(*(one.process.wait() for one in left))
        for worker in self._workers.values():
            if _runs(worker):
                self._log.error("a process did not end and is killed", pid=worker.process.pid)
                worker.process.kill()

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                _ = await self._stopping.wait()  # it is always true


def _runs(worker: WorkerProcess) -> bool:
    return worker.process.returncode is None
