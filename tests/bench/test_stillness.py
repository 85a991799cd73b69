"""When the machine stood still, what was under way then is known, and nothing else."""

import os
import random
import signal
import time

from bench.stillness import LATE_US, Spans, Stillness


def test_overlap_is_found_as_by_looking_at_every_span() -> None:
    dice = random.Random(7)
    starts = [dice.randrange(1_000) for _ in range(40)]
    spans = [(start, start + dice.randrange(1, 60)) for start in starts]
    found = Spans(spans)
    for _ in range(2_000):
        at = dice.randrange(1_100)
        until = at + dice.randrange(1, 30)
        assert found.within(at, until) == any(a < until and b > at for a, b in spans)
    assert not Spans([]).within(0, 1)


def test_a_watch_that_was_stopped_says_so() -> None:
    still = Stillness()
    time.sleep(1.0)  # it has begun, or begins stopped and sees nothing: then it is stopped again
    stopped_us = []
    for _ in range(20):
        os.kill(still.process.pid, signal.SIGSTOP)
        stopped_us.append(time.time_ns() // 1_000)
        time.sleep(0.1)
        os.kill(still.process.pid, signal.SIGCONT)
        time.sleep(0.1)
    spans = still.end()
    assert all(b - a > LATE_US for a, b in spans)
    assert any(Spans(spans).within(us, us + 1_000) for us in stopped_us)
