"""Notes when the machine itself stood still: `python -m bench.stillness`, until its stdin ends.

One thread for each processor, bound to it, wakes every two milliseconds. Where that took much longer
no program ran in time: a busy machine, or a host that gave the processor to somebody else. A program
that only keeps itself waiting is not excused: the scheduler lets another in within its slice of 3 ms."""

import os
import sys
import threading
import time
from bisect import bisect_left
from itertools import accumulate
from pathlib import Path
from subprocess import PIPE, Popen

import msgspec

ROOT = Path(__file__).parents[1]
EVERY_US = 2_000
LATE_US = 6_000

Span = tuple[int, int]


def watch() -> list[Span]:
    """Spans of standing still (µs since 1970), on any processor."""
    over = threading.Event()
    spans: list[Span] = []

    def beat(processor: int) -> None:
        os.sched_setaffinity(0, {processor})  # of this thread
        while not over.is_set():
            due_us = time.time_ns() // 1_000 + EVERY_US
            time.sleep(EVERY_US / 1e6)
            now_us = time.time_ns() // 1_000
            if now_us - due_us > LATE_US:
                spans.append((due_us, now_us))

    threads = [threading.Thread(target=beat, args=(n,)) for n in os.sched_getaffinity(0)]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()
    return spans


class Spans:
    """When it stood still."""

    def __init__(self, spans: list[Span]) -> None:
        self._spans = sorted(spans)
        # They overlap, being of several processors: the latest end up to each one.
        self._ends = list(accumulate((end_us for _, end_us in self._spans), max))

    def within(self, from_us: int, to_us: int) -> bool:
        """Whether at any moment between."""
        before = bisect_left(self._spans, (to_us, 0))
        return before > 0 and self._ends[before - 1] > from_us


class Stillness:
    """The watch, from outside."""

    def __init__(self) -> None:
        command = (sys.executable, "-m", "bench.stillness")
        self.process = Popen(command, cwd=ROOT, stdin=PIPE, stdout=PIPE)

    def end(self) -> list[Span]:
        """What it saw."""
        told, _ = self.process.communicate()
        return msgspec.json.decode(told, type=list[Span])


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(watch()))
